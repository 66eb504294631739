package sessionactor

import (
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
)

// shareFrom is the encoded size in bytes from which a stored array is sent from
// where it lies. Copying less costs less than a message of its own.
const shareFrom = 64 << 10

// shareArray appends the DataValue of a large array whose elements are sent from
// where they are stored: the memory of an array of numbers is its encoded form,
// and for others the address space keeps one (encoded, nil where it does not). It
// reports false, with nothing appended, for every other value.
//
// Only what a Variable stores is sent so: a stored value is replaced and never
// changed (see [addrspace.Variable.Store]), and lives as long as somebody sends it.
func shareArray(batch *channelactor.Batch, dst []byte, dv *ua.DataValue, encoded []byte) ([]byte, bool) {
	value, memory := dv.Value, encoded
	if memory == nil {
		memory = value.Memory()
	}
	if batch == nil || len(memory) < shareFrom {
		return dst, false
	}
	const hasValue = 0x01 // Part 6, 5.2.2.17
	mark := len(dst)
	rest := *dv
	rest.Value = ua.Variant{}
	dst = rest.AppendTo(dst)
	mask := dst[mark] | hasValue
	// The value stands between the mask and the other fields, which are a few
	// numbers and move behind it.
	var fields [32]byte
	n := copy(fields[:], dst[mark+1:])
	dst = append(dst[:mark], mask)
	if encoded == nil {
		dst = value.AppendArrayHead(dst)
	}
	at := len(dst)
	if encoded == nil {
		dst = value.AppendArrayTail(dst)
	}
	dst = append(dst, fields[:n]...)
	batch.Share(dst, at, memory)
	return dst, true
}
