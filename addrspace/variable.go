package addrspace

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Variable is the value cell of a Variable node: one DataValue, what may be
// stored in it, who may, and who is told.
type Variable struct {
	node Node // comes first; see [Node.Variable]

	// What a Read of a number needs stands together: with the node in front of
	// it, all of that is two cache lines.
	//
	// seq, meta, bits and stamp are written under mu and read without a lock;
	// number.go says how.
	seq    atomic.Uint32
	access atomic.Uint32 // AccessLevelEx; its lowest byte is AccessLevel
	config atomic.Pointer[variableConfig]
	meta   atomic.Uint64 // ua.NumberMeta; no type unless the value is a number
	bits   atomic.Uint64 // of a number
	stamp  atomic.Int64  // SourceTimestamp

	// mu guards the value. It is held for a copy, never across a call.
	mu    sync.Mutex
	value ua.Variant // numbers too
	// side holds what only some variables have: watchers, and the encoded
	// form of a large array. Guarded by mu; nil when neither is there.
	side *side

	// read without a lock
	dataType atomic.Pointer[Node]
	rank     atomic.Int32
}

// variableConfig holds the attributes that most variables do not have. A
// published one is immutable.
type variableConfig struct {
	dimensions      []uint32
	source          *Source
	writing         chan struct{} // holds one while a write goes through the source
	minimumSampling float64       // milliseconds; negative: not present
	userAccess      ua.AccessLevelType
	hasUserAccess   bool
	historizing     bool
}

var noConfig = variableConfig{minimumSampling: -1}

func (v *Variable) rare() *variableConfig {
	if c := v.config.Load(); c != nil {
		return c
	}
	return &noConfig
}

// configure publishes a changed copy of the rare attributes. The structure lock
// is held, or the variable is not published yet.
func (v *Variable) configure(change func(*variableConfig)) {
	next := *v.rare()
	change(&next)
	v.config.Store(&next)
}

// Node returns the node that the cell belongs to.
func (v *Variable) Node() *Node { return &v.node }

// DataType returns the DataType attribute.
func (v *Variable) DataType() ua.NodeID { return v.dataType.Load().id }

// ValueRank returns the ValueRank attribute: -1 scalar, 1 one dimension, and so
// on (Part 3, 5.6.2).
func (v *Variable) ValueRank() int32 { return v.rank.Load() }

// Dimensions returns the ArrayDimensions attribute, nil when it is not present.
// The slice must not be changed.
func (v *Variable) Dimensions() []uint32 { return v.rare().dimensions }

// AccessLevel returns the AccessLevel attribute.
func (v *Variable) AccessLevel() ua.AccessLevelType { return ua.AccessLevelType(v.access.Load()) }

// AccessLevelEx returns the AccessLevelEx attribute.
func (v *Variable) AccessLevelEx() ua.AccessLevelExType { return ua.AccessLevelExType(v.access.Load()) }

// UserAccessLevel returns the UserAccessLevel attribute, which is never more
// than the AccessLevel.
func (v *Variable) UserAccessLevel() ua.AccessLevelType {
	level := v.AccessLevel()
	if c := v.rare(); c.hasUserAccess {
		level &= c.userAccess
	}
	return level
}

// MinimumSamplingInterval returns that attribute in milliseconds; ok is false
// when it is not present. 0 says that the variable is watched and not polled.
func (v *Variable) MinimumSamplingInterval() (ms float64, ok bool) {
	ms = v.rare().minimumSampling
	return ms, ms >= 0
}

// Historizing returns the Historizing attribute.
func (v *Variable) Historizing() bool { return v.rare().historizing }

// Load returns the stored value with its status and source timestamp; its
// ServerTimestamp is 0, for the service that reads to set. The value must not
// be changed. For a variable with a [Source] that reads, it is the value that
// was stored last, if any.
func (v *Variable) Load() ua.DataValue {
	v.mu.Lock()
	dv := v.load()
	v.mu.Unlock()
	return dv
}

// Store replaces the value and tells the watchers. It takes ownership of what
// the value refers to, and checks nothing: what a peer wants to write goes
// through [Variable.Write].
//
// Without a SourceTimestamp the value gets the time of now, unless neither
// value nor status is new: a source timestamp changes only with one of them
// (Part 4, 7.11.3), and the store is then without effect. The ServerTimestamp
// is ignored.
func (v *Variable) Store(dv ua.DataValue) { v.storeAt(&dv, nil, 0) }

// storeAt is Store with a range, and with the time to use for a value without
// its own (0: now). Without a range it does not fail.
func (v *Variable) storeAt(dv *ua.DataValue, rng ua.NumericRange, now ua.DateTime) ua.StatusCode {
	v.mu.Lock()
	for {
		sd := v.side
		if sd == nil {
			_, code := v.set(dv, rng, now)
			v.mu.Unlock()
			return code
		}
		// Delivery comes before value in the order of locks.
		v.mu.Unlock()
		sd.mu.Lock()
		v.mu.Lock()
		if v.side != sd {
			sd.mu.Unlock()
			continue
		}
		changed, code := v.set(dv, rng, now)
		sd.last = v.load()
		v.mu.Unlock()
		if changed {
			sd.deliver()
		}
		sd.mu.Unlock()
		return code
	}
}

// set replaces the value and reports whether anything changed. mu is held.
func (v *Variable) set(dv *ua.DataValue, rng ua.NumericRange, now ua.DateTime) (changed bool, status ua.StatusCode) {
	if n, ok := dv.Number(); ok && len(rng) == 0 {
		return v.setNumber(n, now), ua.Good
	}
	value := dv.Value
	if len(rng) > 0 {
		var code ua.StatusCode
		if value, code = v.value.WithRange(rng, value); code != ua.Good {
			return false, code
		}
	}
	stamp := dv.SourceTimestamp
	if stamp == 0 {
		if v.stamp.Load() != 0 && dv.Status == v.number().Status() && sameValue(&v.value, &value) {
			return false, ua.Good
		}
		if stamp = now; stamp == 0 {
			stamp = ua.DateTimeOf(time.Now())
		}
	}
	v.publish(ua.Number{
		Meta: ua.NumberMeta(ua.TypeNull, dv.Status, dv.SourcePicoseconds), SourceTimestamp: stamp,
	}, value)
	if wantsEncoded(&value) {
		if v.side == nil {
			v.side = new(side)
		}
		v.side.encoded = new(encoded)
	} else if v.side != nil {
		v.side.encoded = nil
	}
	return true, ua.Good
}

// sameValue reports whether two values are equal, as far as that is cheap to
// find out.
func sameValue(a, b *ua.Variant) bool {
	if a.Type() != b.Type() || a.IsArray() != b.IsArray() {
		return false
	}
	if a.IsArray() && (a.Len() != b.Len() || a.Len() > sameValueElements) {
		return false
	}
	return a.Equal(*b)
}

// encoded is the encoded form of one stored array, made by whoever needs it first.
type encoded struct {
	once sync.Once
	data []byte
}

// LoadEncoded is Load, with the binary encoding of the value's Variant where
// that is kept: for arrays of more than a few KiB whose elements have to be
// encoded one by one (strings, structures, ...). It is made once for each
// stored value, on first demand. For all other values data is nil: encoding
// them costs no more than copying the encoded form. data must not be changed.
func (v *Variable) LoadEncoded() (dv ua.DataValue, data []byte) {
	v.mu.Lock()
	dv = v.load()
	var e *encoded
	if v.side != nil {
		e = v.side.encoded
	}
	v.mu.Unlock()
	if e != nil {
		e.once.Do(func() { e.data = dv.Value.AppendTo(nil) })
		data = e.data
	}
	return dv, data
}

// wantsEncoded reports whether a value is an array that costs more to encode
// than to copy. Fixed-size numbers are copied in bulk anyway.
func wantsEncoded(v *ua.Variant) bool {
	if !v.IsArray() {
		return false
	}
	var element int
	switch v.Type() {
	case ua.TypeString, ua.TypeByteString, ua.TypeXMLElement, ua.TypeNodeID, ua.TypeQualifiedName:
		element = 16
	case ua.TypeExpandedNodeID, ua.TypeLocalizedText, ua.TypeExtensionObject, ua.TypeDataValue, ua.TypeVariant,
		ua.TypeDiagnosticInfo:
		element = 32
	default:
		return false
	}
	return v.Len()*element >= encodedThreshold
}
