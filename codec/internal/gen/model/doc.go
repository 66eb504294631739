// Package model reads the machine-readable parts of the OPC UA standard and
// joins them into one description of its types, node ids and status codes.
//
// It owns fetching the pinned inputs and resolving one against the other. It
// knows nothing of Go source: the generators that print tables do that.
package model
