package codec

import "errors"

// The defaults that a zero field of [Limits] stands for.
const (
	// DefaultMaxStringLength stops one String from filling the memory that
	// a whole message may take.
	DefaultMaxStringLength = 1 << 20
	// DefaultMaxByteStringLength does the same for ByteStrings, which carry
	// files and images and are larger by nature.
	DefaultMaxByteStringLength = 4 << 20
	// DefaultMaxArrayLength stops arrays of tiny elements, whose size in
	// memory is many times their size on the wire.
	DefaultMaxArrayLength = 1 << 20
	// DefaultMaxDepth is the nesting of Variants and ExtensionObjects that a
	// decoder has to support (Part 6, 5.2.2.15 and 5.2.2.16). A stack
	// overflow ends the process, so more is refused.
	DefaultMaxDepth = 100
	// DefaultMaxDiagnosticDepth bounds DiagnosticInfo chains (Part 6,
	// 5.2.2.12: a decoder supports at least 4 and need not support more
	// than 10).
	DefaultMaxDiagnosticDepth = 10
)

// ErrDecoding says that the bytes are not a valid encoding. Package ua maps
// it to BadDecodingError.
var ErrDecoding = errors.New("codec: malformed encoding")

// ErrLimits says that the bytes may be valid but exceed one of the [Limits].
// Package ua maps it to BadEncodingLimitsExceeded.
var ErrLimits = errors.New("codec: encoding limits exceeded")

// Limits bound what a [Decoder] accepts. The zero value of a field means its
// default, so the zero Limits are usable.
type Limits struct {
	// MaxStringLength is in bytes; default 1 MiB.
	MaxStringLength int
	// MaxByteStringLength is in bytes; default 4 MiB.
	MaxByteStringLength int
	// MaxArrayLength is in elements; default 1 Mi. Arrays of numbers as
	// large as an image need more.
	MaxArrayLength int
	// MaxDepth counts nested Variants and ExtensionObjects; default 100.
	MaxDepth int
	// MaxDiagnosticDepth counts nested DiagnosticInfos; default 10.
	MaxDiagnosticDepth int
	// ReplaceInvalidUTF8 accepts Strings that are not UTF-8 and replaces each
	// invalid sequence by U+FFFD. By default they are refused.
	ReplaceInvalidUTF8 bool
}

// unset stands in for a nil *Limits, so that a Decoder never tests for nil.
var unset Limits

func orDefault(v, def int) int {
	if v == 0 {
		return def
	}
	return v
}
