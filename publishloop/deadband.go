package publishloop

import (
	"math"

	"github.com/uahive/uahive/codec/ua"
)

// filter is a DataChangeFilter as it is applied (Part 4, 7.22.2). The zero value
// is the default: status or value.
type filter struct {
	trigger  trigger
	deadband bool
	percent  float64 // of the EURange, when the deadband is relative
	relative bool
	limit    float64 // the absolute difference that a change has to exceed
}

// trigger is the Trigger of a filter, with the default as its zero value.
type trigger uint8

const (
	statusValue trigger = iota
	statusOnly
	statusValueTimestamp
)

// passes reports whether a new value is to be reported after an old one. A
// deadband applies to the value only: a new status passes any, and with one the
// timestamp does not count (Part 4, 7.22.2).
func (f *filter) passes(old, new *ua.DataValue) bool {
	if old.Status != new.Status {
		return true
	}
	switch {
	case f.trigger == statusOnly:
		return false
	case f.deadband:
		return exceeds(&old.Value, &new.Value, f.limit)
	case f.trigger == statusValueTimestamp &&
		(old.SourceTimestamp != new.SourceTimestamp || old.SourcePicoseconds != new.SourcePicoseconds):
		return true
	}
	return differs(&old.Value, &new.Value)
}

// setRange computes the limit of a relative deadband (Part 8, 7.2). A range that
// is not one makes the deadband zero, so that every change is reported.
func (f *filter) setRange(r ua.Range) {
	f.limit = f.percent / 100 * (r.High - r.Low)
	if !(f.limit >= 0) || math.IsInf(f.limit, 0) {
		f.limit = 0
	}
}

// differs reports whether two values are not the same. Floating-point numbers
// are the same when they are equal or both NaN: a NaN is reported once, when the
// value becomes one (Part 4, 7.10).
func differs(old, new *ua.Variant) bool {
	if old.Equal(*new) {
		return false
	}
	switch new.Type() {
	case ua.TypeFloat, ua.TypeDouble:
		return exceeds(old, new, 0)
	}
	return true
}

// exceeds reports whether two values, or any pair of their elements, are farther
// apart than the limit. What has no difference that could be measured, such as
// another type, length or shape, exceeds it.
func exceeds(old, new *ua.Variant, limit float64) bool {
	if old.Type() != new.Type() || old.IsArray() != new.IsArray() {
		return true
	}
	if new.IsArray() {
		if old.Len() != new.Len() || old.Rank() != new.Rank() {
			return true
		}
		if old.Rank() > 1 && !sameDimensions(old.Dimensions(), new.Dimensions()) {
			return true
		}
		return elementsExceed(old, new, limit)
	}
	if a, ok := old.Int(); ok {
		b, _ := new.Int()
		return apartInt(a, b) > limit
	}
	if a, ok := old.Uint(); ok {
		b, _ := new.Uint()
		return apartUint(a, b) > limit
	}
	if a, ok := old.Float(); ok {
		b, _ := new.Float()
		return floatExceeds(a, b, limit)
	}
	return !old.Equal(*new)
}

func sameDimensions(a, b []int32) bool {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// apartInt returns the distance of two numbers. It cannot overflow: the
// difference of two int64 fits a uint64.
func apartInt(a, b int64) float64 {
	if a < b {
		a, b = b, a
	}
	return float64(uint64(a) - uint64(b))
}

func apartUint(a, b uint64) float64 {
	if a < b {
		a, b = b, a
	}
	return float64(a - b)
}

// floatExceeds counts the way into and out of NaN as a change and staying there
// as none; two equal infinities are no change either.
func floatExceeds(a, b, limit float64) bool {
	if math.IsNaN(a) || math.IsNaN(b) {
		return math.IsNaN(a) != math.IsNaN(b)
	}
	return a != b && math.Abs(a-b) > limit
}

func elementsExceed(old, new *ua.Variant, limit float64) bool {
	switch a := old.Any().(type) {
	case []int8:
		return anyInt(a, new.Any().([]int8), limit)
	case []int16:
		return anyInt(a, new.Any().([]int16), limit)
	case []int32:
		return anyInt(a, new.Any().([]int32), limit)
	case []int64:
		return anyInt(a, new.Any().([]int64), limit)
	case []uint8:
		return anyUint(a, new.Any().([]uint8), limit)
	case []uint16:
		return anyUint(a, new.Any().([]uint16), limit)
	case []uint32:
		return anyUint(a, new.Any().([]uint32), limit)
	case []uint64:
		return anyUint(a, new.Any().([]uint64), limit)
	case []float32:
		return anyFloat(a, new.Any().([]float32), limit)
	case []float64:
		return anyFloat(a, new.Any().([]float64), limit)
	}
	return !old.Equal(*new)
}

func anyInt[T int8 | int16 | int32 | int64](a, b []T, limit float64) bool {
	for i := range a {
		if apartInt(int64(a[i]), int64(b[i])) > limit {
			return true
		}
	}
	return false
}

func anyUint[T uint8 | uint16 | uint32 | uint64](a, b []T, limit float64) bool {
	for i := range a {
		if apartUint(uint64(a[i]), uint64(b[i])) > limit {
			return true
		}
	}
	return false
}

func anyFloat[T float32 | float64](a, b []T, limit float64) bool {
	for i := range a {
		if floatExceeds(float64(a[i]), float64(b[i]), limit) {
			return true
		}
	}
	return false
}
