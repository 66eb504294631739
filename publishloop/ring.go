package publishloop

import (
	"sync/atomic"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// ring is the queue of a monitored item (Part 4, 5.13.1.5) while more than one
// value waits. It grows as it is filled.
type ring struct {
	values []ua.DataValue
	first  int
	count  int
	bytes  int // that the values hold, roughly
	told   int // of bytes, what the server's total has
}

func (r *ring) at(i int) *ua.DataValue { return &r.values[(r.first+i)%len(r.values)] }

// push appends a value. When size values, or as many as may be kept of large
// ones, are in the queue, it reports that values were lost: the oldest, whose
// successor then carries the overflow bit; or the newest, in whose place comes
// the value, with the bit. Two values are kept however large they are.
func (r *ring) push(dv *ua.DataValue, size int, discardOldest bool, bytes int) (lost bool) {
	more := roughSize(&dv.Value)
	full := func() bool { return r.count >= size || r.count >= 2 && r.bytes+more > bytes }
	if !full() {
		r.append(dv, size, more)
		return false
	}
	if discardOldest {
		var old ua.DataValue
		for full() {
			r.pop(&old)
		}
		r.append(dv, size, more)
		oldest := r.at(0)
		oldest.Status = oldest.Status.WithOverflow()
		return true
	}
	newest := r.at(r.count - 1)
	r.bytes += more - roughSize(&newest.Value)
	*newest = *dv
	newest.Status = newest.Status.WithOverflow()
	return true
}

// append adds a value for which there is room.
func (r *ring) append(dv *ua.DataValue, size, bytes int) {
	r.makeRoom(size)
	r.count++
	*r.at(r.count - 1) = *dv
	r.bytes += bytes
}

// makeRoom doubles the memory when it is full.
func (r *ring) makeRoom(size int) {
	if r.count < len(r.values) {
		return
	}
	values := make([]ua.DataValue, min(max(2*len(r.values), 2), size))
	for i := range r.count {
		values[i] = *r.at(i)
	}
	r.values, r.first = values, 0
}

// pop takes the oldest value.
func (r *ring) pop(dv *ua.DataValue) bool {
	if r.count == 0 {
		return false
	}
	*dv = *r.at(0)
	*r.at(0) = ua.DataValue{}
	r.first = (r.first + 1) % len(r.values)
	r.count--
	r.bytes -= roughSize(&dv.Value)
	return true
}

// unpop puts a value back in front. When as many have come meanwhile as the queue
// holds, it is lost, and the oldest value says so.
func (r *ring) unpop(dv *ua.DataValue, size int) {
	if r.count >= size {
		oldest := r.at(0)
		oldest.Status = oldest.Status.WithOverflow()
		return
	}
	r.makeRoom(size)
	r.first = (r.first - 1 + len(r.values)) % len(r.values)
	r.count++
	*r.at(0) = *dv
	r.bytes += roughSize(&dv.Value)
}

// resize keeps the newest values that a smaller queue holds (Part 4, 5.13.3.1).
func (r *ring) resize(size int) (lost bool) {
	var dv ua.DataValue
	for r.count > size {
		r.pop(&dv)
		lost = true
	}
	if lost && size > 1 {
		oldest := r.at(0)
		oldest.Status = oldest.Status.WithOverflow()
	}
	if len(r.values) > size {
		values := make([]ua.DataValue, max(r.count, 1))
		n := r.count
		for i := range n {
			values[i] = *r.at(i)
		}
		r.values, r.first = values, 0
	}
	return lost
}

// empty forgets all values and their memory.
func (r *ring) empty() { *r = ring{told: r.told} }

// tellFrom is the number of bytes by which a queue must have changed before the
// total is told. It keeps the counter that all share out of the way of small values.
const tellFrom = 4 << 10

// tell keeps the total of all queues up to date.
func (r *ring) tell(total *atomic.Int64) {
	if change := r.bytes - r.told; change >= tellFrom || change <= -tellFrom || change != 0 && r.count == 0 {
		total.Add(int64(change))
		r.told = r.bytes
	}
}

// roughSize is about the memory that a value holds beyond the queue's entry. It is
// the same whenever it is asked.
func roughSize(v *ua.Variant) int {
	const each = 64
	size := each
	switch v.Type() {
	case ua.TypeString, ua.TypeByteString, ua.TypeXMLElement, ua.TypeNodeID, ua.TypeExpandedNodeID, ua.TypeQualifiedName,
		ua.TypeLocalizedText, ua.TypeExtensionObject, ua.TypeDataValue, ua.TypeVariant, ua.TypeDiagnosticInfo:
		if text, ok := textSize(v); ok {
			return size + text
		}
		if v.IsArray() {
			size += each * v.Len()
		}
		// What these hold shows best in their encoding.
		buf := codec.GetBuffer(1)
		buf.B = v.AppendTo(buf.B[:0])
		size += len(buf.B)
		buf.Release()
	default:
		if v.IsArray() {
			size += 8 * v.Len()
		}
	}
	return size
}

// textSize is the length of a scalar text or ByteString.
func textSize(v *ua.Variant) (n int, ok bool) {
	if v.IsArray() {
		return 0, false
	}
	switch t := v.Any().(type) {
	case string:
		return len(t), true
	case ua.XMLElement:
		return len(t), true
	case []byte:
		return len(t), true
	}
	return 0, false
}
