package main

import (
	"context"
	"fmt"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

// valueFlags say which values a load reads or writes.
type valueFlags struct {
	target
	shape
	nodeRange
	array int // elements; 0: scalars
}

func (f *valueFlags) check() error {
	for _, check := range []func() error{f.target.check, f.shape.check, f.nodeRange.check} {
		if err := check(); err != nil {
			return err
		}
	}
	if f.array < 0 || f.array > largestArray {
		return wrong("array", f.array, "write the number of elements, at most %d, or 0 for scalars", largestArray)
	}
	if size := int64(f.array) * 4 * int64(f.nodes); size > largestMessage-64<<10 {
		return wrong("nodes", f.nodes, "write fewer: arrays of %d elements take %d MB of a message, which ends at %d MB",
			f.array, size>>20, largestMessage>>20)
	}
	return nil
}

// firstArray and arrays are where the benchmark's address space has its arrays.
const (
	firstArray = 2001
	arrays     = 16
)

// aim finds the nodes on the server and returns the value that the first one
// has. For arrays that is the node among the benchmark's whose array has the
// right length.
func (f *valueFlags) aim(ctx context.Context, c *client.Client, chosen bool) (ua.Variant, error) {
	if f.array == 0 || chosen {
		dv, err := c.ReadValue(ctx, f.first)
		switch {
		case err != nil:
			return ua.Variant{}, fmt.Errorf("node %v cannot be read: %w; name another one with -node, or serve the benchmark's nodes with \"uaload serve\"", f.first, err)
		case dv.Value.IsNull():
			return ua.Variant{}, fmt.Errorf("node %v has no value; name another one with -node", f.first)
		case f.array > 0 && (!dv.Value.IsArray() || dv.Value.Len() != f.array):
			return ua.Variant{}, fmt.Errorf("node %v has no array of %d elements, but %s", f.first, f.array, kind(dv.Value))
		}
		return dv.Value, nil
	}
	f.count = 1
	var seen []int
	for i := range uint32(arrays) {
		f.first = ua.NumericID(1, firstArray+i)
		dv, err := c.ReadValue(ctx, f.first)
		if ua.StatusOf(err) == ua.BadNodeIDUnknown {
			break
		} else if err != nil {
			return ua.Variant{}, err
		}
		if dv.Value.IsArray() && dv.Value.Len() == f.array {
			return dv.Value, nil
		}
		seen = append(seen, dv.Value.Len())
	}
	return ua.Variant{}, fmt.Errorf("the server has no array of %d elements from ns=1;i=%d on, but of %d; start it with \"uaload serve -array-sizes %d\", or name a node with -node",
		f.array, firstArray, seen, f.array)
}

// kind describes a value.
func kind(v ua.Variant) string {
	if v.IsArray() {
		return fmt.Sprintf("%v[%d]", v.Type(), v.Len())
	}
	return v.Type().String()
}

// like returns the number n as a value of the type that v has: a scalar, or an
// array whose first element it is.
func like(v ua.Variant, n int64) (ua.Variant, error) {
	if v.IsArray() {
		if _, ok := ua.As[[]int32](v); !ok || len(v.Dimensions()) > 1 {
			return v, fmt.Errorf("%s cannot be written by uaload: the arrays that it writes are of Int32, with one dimension", kind(v))
		}
		s := make([]int32, v.Len())
		for i := range s {
			s[i] = int32(n) + int32(i)
		}
		return ua.SliceVariant(s), nil
	}
	switch v.Type() {
	case ua.TypeSByte:
		return ua.VariantOf(int8(n)), nil
	case ua.TypeByte:
		return ua.VariantOf(uint8(n)), nil
	case ua.TypeInt16:
		return ua.VariantOf(int16(n)), nil
	case ua.TypeUInt16:
		return ua.VariantOf(uint16(n)), nil
	case ua.TypeInt32:
		return ua.VariantOf(int32(n)), nil
	case ua.TypeUInt32:
		return ua.VariantOf(uint32(n)), nil
	case ua.TypeInt64:
		return ua.VariantOf(n), nil
	case ua.TypeUInt64:
		return ua.VariantOf(uint64(n)), nil
	case ua.TypeFloat:
		return ua.VariantOf(float32(n)), nil
	case ua.TypeDouble:
		return ua.VariantOf(float64(n)), nil
	}
	return v, fmt.Errorf("%s cannot be written by uaload: name nodes with numbers", kind(v))
}
