package ua

// MaxDepth is the nesting of Variants, ExtensionObjects and other values
// inside each other that the encoder, Clone, Equal and String follow. What
// lies deeper is treated as null. It stops values that contain themselves from
// overflowing the stack, which would end the process. Decoders take their
// limit from [codec.Limits], whose default is the same.
const MaxDepth = 100

// MaxDiagnosticDepth is how many DiagnosticInfos may be chained by
// InnerDiagnosticInfo (Part 6, 5.2.2.12).
const MaxDiagnosticDepth = 10

// maxRank is how many dimensions a matrix may have. It stops a matrix with a
// million dimensions of length 1, on which every index range would walk all of
// them for each element.
const maxRank = 64

// A value's text is for logs and tests. It is bounded in elements and bytes,
// so that a peer cannot fill the log by what it writes.
const (
	maxTextElements = 16
	maxTextLength   = 4096
	maxTextDepth    = 12 // of structures in structures
)
