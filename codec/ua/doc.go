// Package ua holds the types of OPC UA: the built-in types of Part 6, 5.1.2,
// written by hand, and every structure, enumeration, status code and id of
// the standard, generated into the *_gen.go files. It owns how they are kept
// in memory and how they are written in the binary encoding (Part 6, 5.2); it
// does not own messages, chunks or services.
//
// # Conventions
//
// Encoders append: AppendTo(dst) returns dst with the encoding behind it and
// never fails. Decoders read from a [codec.Decoder], whose first error sticks.
// Values may share the memory of the buffer that they were decoded from (see
// [codec.Decoder.Alias]); Clone makes a copy that lives on.
//
// In the fields of structures "" stands for a null String. A nil ByteString
// or slice is null, an empty one is not.
//
// # Depth
//
// A Variant, an ExtensionObject and a DiagnosticInfo may contain others of
// their kind, and a stack overflow ends a Go process. Every walk over them
// therefore counts: the decoder refuses more than its limit, and the encoder,
// Clone, Equal and String treat what lies deeper than [MaxDepth] as null.
package ua
