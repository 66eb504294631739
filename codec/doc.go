// Package codec owns the primitives of the OPC UA binary encoding (Part 6,
// 5.2): a sticky-error [Decoder] with limits that are checked before anything
// is allocated, append-style encoders, bulk copies of fixed-size numeric
// slices, and pooled buffers with one owner.
//
// It knows nothing of OPC UA types; those are built on it in package
// codec/ua. It knows nothing of messages and chunks either; the limits of a
// connection are handed in as [Limits].
//
// # Memory
//
// A decoder allocates at most about 64 times the bytes it was given. Every
// array announces its length through [Decoder.ArrayLen], which refuses a
// length that the rest of the message cannot hold, and which also keeps one
// account for the whole message: the elements of all arrays, nested or not,
// occupy disjoint bytes, so the sum of their minimal sizes can never exceed
// the message. Without that account an array nested a hundred times could
// claim the same bytes a hundred times.
//
// # Strings
//
// A String is UTF-8 (Part 6, 5.2.2.4). One that is not is refused with
// [ErrDecoding], so that everything behind the decoder - logs, JSON, node
// ids, user names - may rely on valid text. A program that must live with
// sloppy peers sets [Limits.ReplaceInvalidUTF8]; each invalid sequence is
// then replaced by U+FFFD. An embedded NUL is valid UTF-8 and is kept.
package codec
