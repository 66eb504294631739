package ua

import (
	"strings"

	"github.com/uahive/uahive/codec"
)

// DiagnosticMask says which fields of a DiagnosticInfo are set, since every
// index including 0 is a valid one.
type DiagnosticMask uint8

// The fields of a DiagnosticInfo.
const (
	DiagnosticSymbolicID      DiagnosticMask = 0x01
	DiagnosticNamespaceURI    DiagnosticMask = 0x02
	DiagnosticLocalizedText   DiagnosticMask = 0x04
	DiagnosticLocale          DiagnosticMask = 0x08
	DiagnosticAdditionalInfo  DiagnosticMask = 0x10
	DiagnosticInnerStatusCode DiagnosticMask = 0x20
	DiagnosticInner           DiagnosticMask = 0x40
)

// DiagnosticInfo is vendor-specific detail about a result (Part 4, 7.12). The
// numbers are indexes into the string table of the response.
type DiagnosticInfo struct {
	// Mask says which of the other fields are set; InnerDiagnosticInfo is
	// set when it is not nil.
	Mask                DiagnosticMask
	SymbolicID          int32
	NamespaceURI        int32
	Locale              int32
	LocalizedText       int32
	InnerStatusCode     StatusCode
	AdditionalInfo      string
	InnerDiagnosticInfo *DiagnosticInfo
}

// AppendTo appends the encoding. What is chained deeper than
// MaxDiagnosticDepth is left out.
func (v *DiagnosticInfo) AppendTo(dst []byte) []byte { return v.appendDepth(dst, 0) }

// appendDepth exists beside AppendTo like that of every type that nests. The
// chain is bounded by itself, whatever the depth around it.
func (v *DiagnosticInfo) appendDepth(dst []byte, _ int) []byte {
	for level := 1; ; level++ {
		mask := v.Mask &^ DiagnosticInner
		inner := v.InnerDiagnosticInfo
		if inner != nil && level < MaxDiagnosticDepth {
			mask |= DiagnosticInner
		}
		dst = append(dst, byte(mask))
		if mask&DiagnosticSymbolicID != 0 {
			dst = codec.AppendInt32(dst, v.SymbolicID)
		}
		if mask&DiagnosticNamespaceURI != 0 {
			dst = codec.AppendInt32(dst, v.NamespaceURI)
		}
		if mask&DiagnosticLocale != 0 {
			dst = codec.AppendInt32(dst, v.Locale)
		}
		if mask&DiagnosticLocalizedText != 0 {
			dst = codec.AppendInt32(dst, v.LocalizedText)
		}
		if mask&DiagnosticAdditionalInfo != 0 {
			dst = codec.AppendString(dst, v.AdditionalInfo)
		}
		if mask&DiagnosticInnerStatusCode != 0 {
			dst = codec.AppendUint32(dst, uint32(v.InnerStatusCode))
		}
		if mask&DiagnosticInner == 0 {
			return dst
		}
		v = inner
	}
}

// DecodeFrom reads a DiagnosticInfo and what is chained to it. The chain is
// read in a loop, since each inner one is the last field of the outer.
func (v *DiagnosticInfo) DecodeFrom(d *codec.Decoder) {
	limit := d.MaxDiagnosticDepth()
	for level := 1; ; level++ {
		*v = DiagnosticInfo{}
		if level > limit {
			d.Fail(codec.ErrLimits)
			return
		}
		mask := DiagnosticMask(d.Uint8())
		if mask&0x80 != 0 {
			d.Fail(codec.ErrDecoding)
			return
		}
		v.Mask = mask &^ DiagnosticInner
		if mask&DiagnosticSymbolicID != 0 {
			v.SymbolicID = d.Int32()
		}
		if mask&DiagnosticNamespaceURI != 0 {
			v.NamespaceURI = d.Int32()
		}
		if mask&DiagnosticLocale != 0 {
			v.Locale = d.Int32()
		}
		if mask&DiagnosticLocalizedText != 0 {
			v.LocalizedText = d.Int32()
		}
		if mask&DiagnosticAdditionalInfo != 0 {
			v.AdditionalInfo = d.String()
		}
		if mask&DiagnosticInnerStatusCode != 0 {
			v.InnerStatusCode = StatusCode(d.Uint32())
		}
		if mask&DiagnosticInner == 0 || d.Err() != nil {
			return
		}
		v.InnerDiagnosticInfo = new(DiagnosticInfo)
		v = v.InnerDiagnosticInfo
	}
}

// IsNull reports whether nothing is set.
func (v *DiagnosticInfo) IsNull() bool { return v.Mask == 0 && v.InnerDiagnosticInfo == nil }

// Clone returns a deep copy that does not share memory.
func (v DiagnosticInfo) Clone() DiagnosticInfo {
	v.AdditionalInfo = strings.Clone(v.AdditionalInfo)
	out := &v
	for level := 1; out.InnerDiagnosticInfo != nil; level++ {
		if level >= MaxDiagnosticDepth {
			out.InnerDiagnosticInfo = nil
			break
		}
		inner := *out.InnerDiagnosticInfo
		inner.AdditionalInfo = strings.Clone(inner.AdditionalInfo)
		out.InnerDiagnosticInfo = &inner
		out = &inner
	}
	return v
}

// Equal reports whether both would be encoded alike.
func (v DiagnosticInfo) Equal(o DiagnosticInfo) bool {
	return string(v.AppendTo(nil)) == string(o.AppendTo(nil))
}
