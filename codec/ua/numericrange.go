package ua

import (
	"math"
	"strconv"
	"strings"
)

// IndexRange selects the indexes from Low to High, both included, of one
// dimension.
type IndexRange struct{ Low, High int }

// NumericRange selects a part of an array, a matrix, a String or a ByteString
// (Part 4, 7.27), with one IndexRange per dimension. An empty one selects the
// whole value.
type NumericRange []IndexRange

// ParseNumericRange reads the text form, such as "3", "1:2" or "0:1,4". ""
// gives an empty range. BadIndexRangeInvalid says that the syntax is wrong, and
// BadIndexRangeNoData that no value has so many dimensions; whether the
// indexes exist is seen only at a value.
func ParseNumericRange(s string) (NumericRange, StatusCode) {
	if s == "" {
		return nil, Good
	}
	r := make(NumericRange, 0, min(strings.Count(s, ",")+1, maxRank+2))
	for part := range strings.SplitSeq(s, ",") {
		low, high, isRange := strings.Cut(part, ":")
		l, ok := parseIndex(low)
		if !ok {
			return nil, BadIndexRangeInvalid
		}
		h := l
		if isRange {
			// "5:5" is as invalid as "7:5".
			if h, ok = parseIndex(high); !ok || h <= l {
				return nil, BadIndexRangeInvalid
			}
		}
		// One dimension more than a matrix has may select inside its texts.
		if len(r) <= maxRank+1 {
			r = append(r, IndexRange{l, h})
		}
	}
	if len(r) > maxRank+1 {
		return nil, BadIndexRangeNoData
	}
	return r, Good
}

// parseIndex takes decimal digits only. An index beyond what an array can
// have is valid syntax and selects nothing, so it is kept as a large number.
func parseIndex(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		if n > (math.MaxInt-9)/10 {
			n = math.MaxInt - 10
			continue
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// String returns the text form.
func (r NumericRange) String() string {
	var b []byte
	for i, d := range r {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(d.Low), 10)
		if d.High != d.Low {
			b = append(b, ':')
			b = strconv.AppendInt(b, int64(d.High), 10)
		}
	}
	return string(b)
}

// clip limits the range to n existing indexes; ok is false when it starts
// beyond them.
func (d IndexRange) clip(n int) (from, to int, ok bool) {
	if d.Low < 0 || d.Low >= n || d.High < d.Low {
		return 0, 0, false
	}
	return d.Low, min(d.High, n-1) + 1, true
}

// block is a part of an array whose last index runs fastest: per dimension the
// first index, how many, and out of how many.
type block struct {
	from, count, of []int
}

// blockOf applies a range to dimensions. A range may reach beyond the end of
// a dimension when partial is set, but must not begin there.
func blockOf(r NumericRange, dims []int32, partial bool) (block, bool) {
	n := len(dims)
	all := make([]int, 3*n)
	b := block{all[:n], all[n : 2*n], all[2*n:]}
	for i, d := range dims {
		from, to, ok := r[i].clip(int(d))
		if !ok || !partial && to <= r[i].High {
			return block{}, false
		}
		b.from[i], b.count[i], b.of[i] = from, to-from, int(d)
	}
	return b, true
}

// len returns the number of elements in the block.
func (b block) len() int {
	n := 1
	for _, c := range b.count {
		n *= c
	}
	return n
}

// runs calls f for each piece that is contiguous in the whole array, with the
// offset of its first element there. It walks like an odometer, without
// recursion, since a peer chooses the number of dimensions.
func (b block) runs(f func(offset, n int)) {
	last := len(b.count) - 1
	at := make([]int, last)
	for {
		offset := 0
		for i := range last {
			offset = (offset + b.from[i] + at[i]) * b.of[i+1]
		}
		f(offset+b.from[last], b.count[last])
		i := last - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < b.count[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return
		}
	}
}
