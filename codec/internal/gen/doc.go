// Command gen writes the parts of the codec that the standard already states
// in machine-readable form: structures, enumerations, status codes and node
// ids. Its sibling in the folder ns0 writes the address space of namespace 0.
//
// Both read the same pinned inputs (see package model), which are downloaded
// once into the user's cache and never committed; -inputs names a folder that
// has them already. The output holds names, numbers, types and references but
// no description texts. Running it twice gives the same bytes.
//
//	go generate ./...
//
// The order below matters: ns0 encodes values with the package that the first
// line writes.
package main

//go:generate go run .
//go:generate go run ./ns0
