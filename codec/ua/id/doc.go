// Package id names the numbers of namespace 0.
//
// The names are the standard's own, verbatim and in its spelling: the path of
// browse names from the owning type or instance, joined by underscores. They
// are untyped constants, to be used as ua.NumericID(0, id.Server_ServerStatus).
package id
