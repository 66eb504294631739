package addrspace

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// A number is read without a lock. Many connections read the same variables at
// the same time, and a lock would send its cache line from core to core for each
// of them, though nothing changes.
//
// The words of the value are atomic, and seq counts the stores: it is odd while
// one of them writes, and a reader that found it even and the same before and
// after has words that belong together. A reader is fooled only if it sleeps in
// between for exactly 2^31 stores. Writers hold mu, so that there is one at a time.

// publish replaces the value and all that belongs to it. For a value that is no
// number, n has the rest and TypeNull. mu is held.
func (v *Variable) publish(n ua.Number, value ua.Variant) {
	seq := v.seq.Load()
	v.seq.Store(seq + 1)
	if v.meta.Load() != n.Meta {
		v.meta.Store(n.Meta)
	}
	v.bits.Store(n.Bits)
	v.stamp.Store(int64(n.SourceTimestamp))
	v.seq.Store(seq + 2)
	v.value = value
}

// setNumber is set for a number that replaces the whole value. mu is held.
func (v *Variable) setNumber(n ua.Number, now ua.DateTime) (changed bool) {
	if n.SourceTimestamp == 0 {
		old := v.number()
		if old.SourceTimestamp != 0 && old.Status() == n.Status() && old.SameValue(n) {
			return false
		}
		if n.SourceTimestamp = now; now == 0 {
			n.SourceTimestamp = ua.DateTimeOf(time.Now())
		}
	}
	v.publish(n, n.Value())
	if v.side != nil {
		v.side.encoded = nil
	}
	return true
}

// writeNumber is Write for what most Writes are about: a number for a variable
// in memory of just that type. ok is false for everything else, of which
// nothing was done or checked.
func (v *Variable) writeNumber(dv *ua.DataValue) (code ua.StatusCode, ok bool) {
	n, ok := dv.Number()
	if !ok || v.config.Load() != nil || v.rank.Load() > rankScalar || v.node.space.limits.ValueSize < 8 {
		return ua.Good, false
	}
	if kind, builtin := v.dataType.Load().typeKind(); kind != kindBuiltin || builtin != n.Type() {
		return ua.Good, false
	}
	if code = v.checkRights(dv, nil); code != ua.Good {
		return code, true
	}
	v.mu.Lock()
	if v.side != nil {
		v.mu.Unlock()
		return v.storeAt(dv, nil, 0), true
	}
	v.setNumber(n, 0)
	v.mu.Unlock()
	return ua.Good, true
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
