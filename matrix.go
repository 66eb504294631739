package uahive

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/uahive/uahive/codec/ua"
)

// ByteArray is an array of Byte. A []byte is something else in OPC UA: a
// ByteString.
type ByteArray []byte

// Matrix is an array of two or more dimensions. The zero value has no elements
// and no dimensions. Copies share their elements, as those of a slice do.
type Matrix[T ua.Builtin] struct {
	elements []T
	dims     []int
}

// NewMatrix returns a matrix of zero values with the given length of each
// dimension. It panics, as make does, when one is negative.
func NewMatrix[T ua.Builtin](dims ...int) Matrix[T] {
	n := 1
	for _, d := range dims {
		n *= d
	}
	if len(dims) == 0 {
		n = 0
	}
	return Matrix[T]{make([]T, n), slices.Clone(dims)}
}

// MatrixOf returns the two-dimensional matrix with these rows. All must have the
// length of the first; missing elements are zero values and further ones are
// dropped.
func MatrixOf[T ua.Builtin](rows ...[]T) Matrix[T] {
	if len(rows) == 0 {
		return Matrix[T]{}
	}
	m := NewMatrix[T](len(rows), len(rows[0]))
	for i, row := range rows {
		copy(m.elements[i*m.dims[1]:(i+1)*m.dims[1]], row)
	}
	return m
}

// Dims returns the length of each dimension.
func (m Matrix[T]) Dims() []int { return slices.Clone(m.dims) }

// Elements returns the elements with the last index running fastest. The slice
// is the matrix's own.
func (m Matrix[T]) Elements() []T { return m.elements }

// At returns one element. It panics, as an index expression does, when the
// indexes are not those of an element.
func (m Matrix[T]) At(index ...int) T { return m.elements[m.place(index)] }

// Set changes one element; it panics as At does.
func (m Matrix[T]) Set(value T, index ...int) { m.elements[m.place(index)] = value }

func (m Matrix[T]) place(index []int) int {
	place := 0
	if len(index) != len(m.dims) {
		panic(fmt.Sprintf("uahive: %d indexes for a matrix of %d dimensions", len(index), len(m.dims)))
	}
	for i, at := range index {
		if at < 0 || at >= m.dims[i] {
			panic(fmt.Sprintf("uahive: index %v out of range of a matrix of dimensions %v", index, m.dims))
		}
		place = place*m.dims[i] + at
	}
	return place
}

// matrix is what a Matrix is to code that does not know the type of its elements.
type matrix interface {
	element() reflect.Type
	rank() int
	variant() ua.Variant
}

type matrixSetter interface{ from(ua.Variant) bool }

var (
	_ matrix       = Matrix[int32]{}
	_ matrixSetter = (*Matrix[int32])(nil)
)

func (Matrix[T]) element() reflect.Type { return reflect.TypeFor[T]() }
func (m Matrix[T]) rank() int           { return len(m.dims) }

// variant returns a copy of the matrix.
func (m Matrix[T]) variant() ua.Variant {
	dims := make([]int32, len(m.dims))
	for i, d := range m.dims {
		dims[i] = int32(d)
	}
	v, err := ua.MatrixVariant(m.elements, dims...)
	if err != nil {
		return ua.SliceVariant[T](nil) // no dimensions
	}
	return v.Clone()
}

// from replaces the matrix by a copy of a value.
func (m *Matrix[T]) from(v ua.Variant) bool {
	v = v.Clone()
	elements, ok := ua.As[[]T](v)
	if !ok {
		return false
	}
	m.elements, m.dims = elements, nil
	if len(elements) == 0 {
		return true
	}
	for _, d := range v.Dimensions() {
		m.dims = append(m.dims, int(d))
	}
	return true
}
