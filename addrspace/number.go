package addrspace

import "github.com/uahive/uahive/codec/ua"

// A number is read without a lock. Many connections read the same variables at
// the same time, and a lock would send its cache line from core to core for each
// of them, though nothing changes.
//
// The words of the value are atomic, and seq counts the stores: it is odd while
// one of them writes, and a reader that found it even and the same before and
// after has words that belong together. A reader is fooled only if it sleeps in
// between for exactly 2^31 stores. Writers hold mu, so that there is one at a time.

// The layout of Variable.meta.
const (
	metaStatus      = 32 // shift of the status
	metaPicoseconds = 16 // shift of SourcePicoseconds
	metaType        = 0xff
)

func statusOf(meta uint64) ua.StatusCode { return ua.StatusCode(meta >> metaStatus) }

// publish replaces the value and all that belongs to it. mu is held.
func (v *Variable) publish(value ua.Variant, status ua.StatusCode, stamp ua.DateTime, picoseconds uint16) {
	meta := uint64(status)<<metaStatus | uint64(picoseconds)<<metaPicoseconds
	bits := uint64(0)
	if value.IsNumber() {
		meta |= uint64(value.Type())
		bits = value.Bits()
	}
	seq := v.seq.Load()
	v.seq.Store(seq + 1)
	if v.meta.Load() != meta {
		v.meta.Store(meta)
	}
	v.bits.Store(bits)
	v.stamp.Store(int64(stamp))
	v.seq.Store(seq + 2)
	v.value = value
}

// load returns the value and all that belongs to it. mu is held.
func (v *Variable) load() ua.DataValue {
	meta := v.meta.Load()
	return ua.DataValue{
		Value: v.value, Status: statusOf(meta),
		SourceTimestamp: ua.DateTime(v.stamp.Load()), SourcePicoseconds: uint16(meta >> metaPicoseconds),
	}
}

// LoadNumber is Load for what most Reads are about: a number in memory that
// everybody may read. ok is false for every other value, and where a [Source]
// or a UserAccessLevel of its own has to be asked; the caller then takes the
// general way. It takes no lock.
func (v *Variable) LoadNumber() (n ua.Number, ok bool) {
	if v.access.Load()&uint32(ua.AccessLevelTypeCurrentRead) == 0 {
		return n, false
	}
	if c := v.config.Load(); c != nil && (c.source != nil || c.hasUserAccess) {
		return n, false
	}
	seq := v.seq.Load()
	meta := v.meta.Load()
	n.Type = ua.TypeID(meta & metaType)
	n.Bits = v.bits.Load()
	n.SourceTimestamp = ua.DateTime(v.stamp.Load())
	if v.seq.Load() != seq || seq&1 != 0 {
		// Somebody stores at this very moment. The general way waits for that.
		return ua.Number{}, false
	}
	n.Status = statusOf(meta)
	n.SourcePicoseconds = uint16(meta >> metaPicoseconds)
	return n, n.Type != ua.TypeNull
}
