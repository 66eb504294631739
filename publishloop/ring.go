package publishloop

import "github.com/uahive/uahive/codec/ua"

// ring is the queue of a monitored item with more than one entry (Part 4,
// 5.13.1.5). It grows as it is filled.
type ring struct {
	values []ua.DataValue
	first  int
	count  int
}

func (r *ring) at(i int) *ua.DataValue { return &r.values[(r.first+i)%len(r.values)] }

// push appends a value. When size values, or as many as may be kept of large
// ones, are in the queue, it reports that one was lost: the oldest, whose
// successor then carries the overflow bit; or the newest, in whose place comes
// the value, with the bit.
func (r *ring) push(dv *ua.DataValue, size int, discardOldest bool, bytes int) (lost bool) {
	if r.count < size && r.count == len(r.values) {
		r.grow(size, bytes/roughSize(&dv.Value))
	}
	if r.count < min(size, len(r.values)) {
		r.count++
		*r.at(r.count - 1) = *dv
		return false
	}
	if discardOldest {
		*r.at(0) = *dv
		r.first = (r.first + 1) % len(r.values)
		oldest := r.at(0)
		oldest.Status = oldest.Status.WithOverflow()
		return true
	}
	newest := r.at(r.count - 1)
	*newest = *dv
	newest.Status = newest.Status.WithOverflow()
	return true
}

// grow doubles the memory, to no more than size entries and, beyond two, to no
// more than most of them.
func (r *ring) grow(size, most int) {
	n := min(max(2*len(r.values), 2), size, max(most, 2))
	if n <= len(r.values) {
		return
	}
	values := make([]ua.DataValue, n)
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
	return true
}

// unpop puts a value back in front. Where there is no room any more it is lost,
// and the oldest value says so.
func (r *ring) unpop(dv *ua.DataValue) {
	if r.count == len(r.values) {
		oldest := r.at(0)
		oldest.Status = oldest.Status.WithOverflow()
		return
	}
	r.first = (r.first - 1 + len(r.values)) % len(r.values)
	r.count++
	*r.at(0) = *dv
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

// roughSize is about the memory that a value holds beyond the queue's entry.
func roughSize(v *ua.Variant) int {
	if !v.IsArray() {
		switch v.Type() {
		case ua.TypeString, ua.TypeByteString, ua.TypeXMLElement:
			return 64 + textSize(v)
		case ua.TypeExtensionObject:
			return 512
		}
		return 64
	}
	switch v.Type() {
	case ua.TypeString, ua.TypeByteString, ua.TypeXMLElement, ua.TypeVariant, ua.TypeNodeID, ua.TypeLocalizedText,
		ua.TypeExpandedNodeID, ua.TypeQualifiedName:
		return 64 + 64*v.Len()
	case ua.TypeExtensionObject, ua.TypeDataValue, ua.TypeDiagnosticInfo:
		return 64 + 256*v.Len()
	}
	return 64 + 8*v.Len()
}

// textSize is the length of a scalar text or ByteString.
func textSize(v *ua.Variant) int {
	switch t := v.Any().(type) {
	case string:
		return len(t)
	case ua.XMLElement:
		return len(t)
	case []byte:
		return len(t)
	}
	return 0
}
