package addrspace

import (
	"github.com/uahive/uahive/codec/ua"
)

// Write is the Write service for the value of a variable in memory: it checks
// what a client sent, and stores a copy. For a variable with a [Source] that
// takes writes, the steps are PrepareWrite, the source's Write, and CommitWrite
// when the source does not read.
func (v *Variable) Write(dv *ua.DataValue, rng ua.NumericRange) ua.StatusCode {
	if len(rng) == 0 {
		if code, done := v.writeNumber(dv); done {
			return code
		}
	}
	prepared, code := v.PrepareWrite(dv, rng)
	if code != ua.Good {
		return code
	}
	return v.CommitWrite(prepared, rng)
}

// WriteDecoded is [Variable.Write] for a value that a decoder has made for it
// alone: the elements of an array of numbers are not copied again, and nobody may
// change them any more.
func (v *Variable) WriteDecoded(dv *ua.DataValue, rng ua.NumericRange) ua.StatusCode {
	if len(rng) == 0 {
		if code, done := v.writeNumber(dv); done {
			return code
		}
	}
	prepared, code := v.PrepareDecoded(dv, rng)
	if code != ua.Good {
		return code
	}
	return v.CommitWrite(prepared, rng)
}

// PrepareDecoded is [Variable.PrepareWrite] for a value as in [Variable.WriteDecoded].
func (v *Variable) PrepareDecoded(dv *ua.DataValue, rng ua.NumericRange) (ua.DataValue, ua.StatusCode) {
	value, code := v.checkWrite(dv, rng)
	if code != ua.Good {
		return ua.DataValue{}, code
	}
	if dv.Value.IsArray() {
		return written(dv, value.Keep()), ua.Good
	}
	return written(dv, value.Clone()), ua.Good // also a ByteString that stands for an array of Byte
}

// written is what is stored of a value that was checked.
func written(dv *ua.DataValue, value ua.Variant) ua.DataValue {
	return ua.DataValue{
		Value: value, Status: dv.Status,
		SourceTimestamp: dv.SourceTimestamp, SourcePicoseconds: dv.SourcePicoseconds,
	}
}

// PrepareWrite checks a value that a client wants to write (Part 4, 5.11.4) and
// returns it in the form to store, in memory of its own. Nothing is changed.
// The status is
//
//   - BadNotWritable, when the AccessLevel has no CurrentWrite,
//   - BadUserAccessDenied, when only the UserAccessLevel has none,
//   - BadWriteNotSupported for a status without StatusWrite, a source timestamp
//     without TimestampWrite, any server timestamp, an index range with
//     WriteFullArrayOnly, and a variable whose Source cannot be written,
//   - BadTypeMismatch for a value that does not fit DataType, ValueRank or
//     ArrayDimensions,
//   - BadOutOfRange for a value beyond the size limit, and for a number that
//     the enumeration does not define.
//
// Whether an index range fits the present value is found out by CommitWrite, or
// here when a Source is to take the value in between.
func (v *Variable) PrepareWrite(dv *ua.DataValue, rng ua.NumericRange) (ua.DataValue, ua.StatusCode) {
	value, code := v.checkWrite(dv, rng)
	if code != ua.Good {
		return ua.DataValue{}, code
	}
	return written(dv, value.Clone()), ua.Good
}

// checkWrite is PrepareWrite without the copy.
func (v *Variable) checkWrite(dv *ua.DataValue, rng ua.NumericRange) (ua.Variant, ua.StatusCode) {
	if code := v.checkRights(dv, rng); code != ua.Good {
		return ua.Variant{}, code
	}
	if size := v.node.space.limits.ValueSize; valueSize(&dv.Value) > size {
		return ua.Variant{}, ua.BadOutOfRange
	}
	return v.checkValue(dv, rng)
}

// CommitWrite stores what PrepareWrite returned. With a range, the part is put
// into the value that is there now, in one step: BadIndexRangeNoData says that
// the value has no such part, BadIndexRangeDataMismatch that what was written
// has another size than the range.
func (v *Variable) CommitWrite(dv ua.DataValue, rng ua.NumericRange) ua.StatusCode {
	return v.storeAt(&dv, rng, 0)
}

func (v *Variable) checkRights(dv *ua.DataValue, rng ua.NumericRange) ua.StatusCode {
	access := v.AccessLevelEx()
	switch {
	case access&ua.AccessLevelExTypeCurrentWrite == 0:
		return ua.BadNotWritable
	case v.UserAccessLevel()&ua.AccessLevelTypeCurrentWrite == 0:
		return ua.BadUserAccessDenied
	case dv.Status != ua.Good && access&ua.AccessLevelExTypeStatusWrite == 0,
		dv.SourceTimestamp != 0 && access&ua.AccessLevelExTypeTimestampWrite == 0,
		// The server timestamp is not kept: each read has its own.
		dv.ServerTimestamp != 0,
		len(rng) > 0 && access&ua.AccessLevelExTypeWriteFullArrayOnly != 0:
		return ua.BadWriteNotSupported
	}
	if src := v.Source(); src != nil && src.Read != nil && src.Write == nil {
		return ua.BadWriteNotSupported
	}
	return ua.Good
}

// CheckValue reports whether a value fits the variable's DataType, ValueRank
// and ArrayDimensions, and returns it in the form to store. It asks for no
// rights.
func (v *Variable) CheckValue(value ua.Variant) (ua.Variant, ua.StatusCode) {
	sh := v.shape()
	return sh.check(v.node.space, value)
}

func (v *Variable) shape() shape {
	return shape{
		dataType: v.dataType.Load(), rank: v.ValueRank(), dimensions: v.Dimensions(),
		exact: v.AccessLevelEx()&ua.AccessLevelExTypeNoSubDataTypes != 0,
	}
}

func (v *Variable) checkValue(dv *ua.DataValue, rng ua.NumericRange) (ua.Variant, ua.StatusCode) {
	if len(rng) == 0 {
		if dv.Value.IsNull() && dv.Status.IsBad() {
			return dv.Value, ua.Good // a bad status may come without a value
		}
		return v.CheckValue(dv.Value)
	}
	return v.checkPart(dv.Value, rng)
}

// checkPart checks the part of a value that a range selects. Its own rank is
// that of the range, and is compared with the present value.
func (v *Variable) checkPart(part ua.Variant, rng ua.NumericRange) (ua.Variant, ua.StatusCode) {
	if part.IsNull() {
		return part, ua.BadTypeMismatch
	}
	sh := v.shape()
	sh.rank, sh.dimensions = rankAny, nil
	part, code := sh.check(v.node.space, part)
	if code != ua.Good {
		return part, code
	}
	if src := v.Source(); src != nil && src.Write != nil && src.Read == nil {
		// The source is not to see what cannot be stored afterwards.
		_, code = v.Load().Value.WithRange(rng, part)
	}
	return part, code
}
