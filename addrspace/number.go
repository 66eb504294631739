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

// publish replaces the value and all that belongs to it. mu is held.
func (v *Variable) publish(value ua.Variant, status ua.StatusCode, stamp ua.DateTime, picoseconds uint16) {
	meta, bits := ua.NumberMeta(ua.TypeNull, status, picoseconds), uint64(0)
	if value.IsNumber() {
		meta, bits = ua.NumberMeta(value.Type(), status, picoseconds), value.Bits()
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

// number returns the words of the value. Under mu they belong together.
func (v *Variable) number() ua.Number {
	return ua.Number{Meta: v.meta.Load(), Bits: v.bits.Load(), SourceTimestamp: ua.DateTime(v.stamp.Load())}
}

// load returns the value and all that belongs to it. mu is held.
func (v *Variable) load() ua.DataValue {
	n := v.number()
	return ua.DataValue{
		Value: v.value, Status: n.Status(),
		SourceTimestamp: n.SourceTimestamp, SourcePicoseconds: n.SourcePicoseconds(),
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
	n = v.number()
	if seq&1 != 0 || v.seq.Load() != seq {
		return n, false // somebody stores at this moment; the general way waits for that
	}
	return n, n.Type() != ua.TypeNull
}
