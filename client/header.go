package client

import (
	"encoding/binary"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// zeroHeaderSize is the length of an encoded zero RequestHeader: a null
// NodeId, a timestamp, a handle, the diagnostics mask, a null string, the
// hint and an ExtensionObject without a body.
const zeroHeaderSize = 2 + 8 + 4 + 4 + 4 + 4 + 3

// appendWithHeader appends a request whose RequestHeader is replaced by h. What
// the caller put into its header to be said to the server (ReturnDiagnostics,
// AuditEntryID, AdditionalHeader) is kept. The request itself is not changed,
// so that it can be sent by several goroutines at once.
func appendWithHeader(dst []byte, req ua.Structure, h *ua.RequestHeader) []byte {
	start := len(dst)
	dst = req.AppendTo(dst)
	own := zeroHeaderSize
	if !isZeroHeader(dst[start:]) {
		var theirs ua.RequestHeader
		var d codec.Decoder
		d.Alias(true)
		d.Reset(dst[start:], nil)
		theirs.DecodeFrom(&d)
		own = d.Pos()
		h.ReturnDiagnostics = theirs.ReturnDiagnostics
		h.AuditEntryID = theirs.AuditEntryID
		h.AdditionalHeader = theirs.AdditionalHeader
		if theirs.TimeoutHint != 0 {
			h.TimeoutHint = theirs.TimeoutHint
		}
	}
	var room [128]byte
	header := h.AppendTo(room[:0])
	if grow := len(header) - own; grow > 0 {
		dst = append(dst, header[:grow]...) // any bytes: they are overwritten
		copy(dst[start+len(header):], dst[start+own:len(dst)-grow])
	} else if grow < 0 {
		copy(dst[start+len(header):], dst[start+own:])
		dst = dst[:len(dst)+grow]
	}
	copy(dst[start:], header)
	return dst
}

// isZeroHeader compares with the encoding of a zero RequestHeader: all bytes
// are 0 but the null string's length of -1.
func isZeroHeader(b []byte) bool {
	return len(b) >= zeroHeaderSize &&
		binary.LittleEndian.Uint64(b) == 0 &&
		binary.LittleEndian.Uint64(b[8:]) == 0 &&
		binary.LittleEndian.Uint64(b[16:]) == 0xffff_ffff<<16 &&
		b[24] == 0 && b[25] == 0 && b[26] == 0 && b[27] == 0 && b[28] == 0
}

// responseStatus returns the ServiceResult of an encoded ResponseHeader, which
// stands behind a timestamp and a handle (Part 4, 7.34).
func responseStatus(body []byte) (ua.StatusCode, bool) {
	if len(body) < 16 {
		return 0, false
	}
	return ua.StatusCode(binary.LittleEndian.Uint32(body[12:])), true
}
