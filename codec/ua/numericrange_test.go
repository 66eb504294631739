package ua

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/uahive/uahive/internal/fuzzguard"
)

// Part 4, 7.27: digits, colon and comma only, and the first index of a range
// is below the second.
func TestParseNumericRange(t *testing.T) {
	valid := map[string]NumericRange{
		"":         nil,
		"6":        {{6, 6}},
		"5:7":      {{5, 7}},
		"1:2,0:1":  {{1, 2}, {0, 1}},
		"1,1":      {{1, 1}, {1, 1}},
		"0,3:4,12": {{0, 0}, {3, 4}, {12, 12}},
		"007":      {{7, 7}},
	}
	for s, want := range valid {
		got, code := ParseNumericRange(s)
		if code != Good || len(got) != len(want) {
			t.Errorf("%q: %v, %v", s, got, code)
			continue
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%q: %v", s, got)
			}
		}
	}
	for _, s := range []string{
		":", ",", "1:", ":1", "1,", ",1", "5:5", "7:5", "-1", "+1", "1:-2", " 1", "1 ", "1: 2", "a", "0x1", "1.0", "1;2",
		"1::2", "1:2:3", "1,,2", "٣", "1\x00", "99999999999999999999:99999999999999999999",
	} {
		if r, code := ParseNumericRange(s); code != BadIndexRangeInvalid || r != nil {
			t.Errorf("%q: %v, %v", s, r, code)
		}
	}
	// Indexes beyond every array are valid and select nothing, or to the end.
	for _, s := range []string{"4294967296", "99999999999999999999", "18446744073709551616:99999999999999999999999"} {
		r, code := ParseNumericRange(s)
		if code == BadIndexRangeInvalid && strings.Contains(s, ":") {
			continue // both ends are cut to the same number
		}
		if code != Good {
			t.Errorf("%q: %v", s, code)
		}
		if _, code := SliceVariant([]int32{1}).Slice(r); code != BadIndexRangeNoData {
			t.Errorf("%q selects something: %v", s, code)
		}
	}
	if r, code := ParseNumericRange("0:99999999999999999999"); code != Good || r[0].High < math.MaxInt32 {
		t.Errorf("a long way to the end: %v %v", r, code)
	}
	if r, code := ParseNumericRange(strings.Repeat("0,", 100_000) + "0"); code != BadIndexRangeNoData || r != nil {
		t.Errorf("many dimensions: %v", code)
	}
	if _, code := ParseNumericRange(strings.Repeat("0,", 100_000) + "x"); code != BadIndexRangeInvalid {
		t.Errorf("many dimensions and an error: %v", code)
	}
}

var (
	numbers = SliceVariant([]int32{10, 11, 12, 13})
	grid    = must(MatrixVariant([]int32{
		0, 1, 2, 3,
		10, 11, 12, 13,
		20, 21, 22, 23,
	}, 3, 4))
	words = SliceVariant([]string{"hello", "Hot水", ""})
	blobs = SliceVariant([][]byte{{1, 2, 3}, {4}, nil})
)

func TestSlice(t *testing.T) {
	cube := must(MatrixVariant([]uint8{0, 1, 2, 3, 4, 5, 6, 7}, 2, 2, 2))
	tests := []struct {
		v    Variant
		r    string
		want Variant
		code StatusCode
	}{
		{numbers, "", numbers, Good},
		{numbers, "0", SliceVariant([]int32{10}), Good},
		{numbers, "3", SliceVariant([]int32{13}), Good},
		{numbers, "1:2", SliceVariant([]int32{11, 12}), Good},
		{numbers, "2:99", SliceVariant([]int32{12, 13}), Good}, // partial
		{numbers, "4", Variant{}, BadIndexRangeNoData},
		{numbers, "4:5", Variant{}, BadIndexRangeNoData},
		{numbers, "0,0", Variant{}, BadIndexRangeNoData},
		{SliceVariant([]int32{}), "0", Variant{}, BadIndexRangeNoData},
		{SliceVariant([]int32(nil)), "0", Variant{}, BadIndexRangeNoData},

		{grid, "1:2,0:1", must(MatrixVariant([]int32{10, 11, 20, 21}, 2, 2)), Good},
		{grid, "1,1", must(MatrixVariant([]int32{11}, 1, 1)), Good},
		{grid, "2,1:9", must(MatrixVariant([]int32{21, 22, 23}, 1, 3)), Good},
		{grid, "1:9,3", must(MatrixVariant([]int32{13, 23}, 2, 1)), Good},
		{grid, "3,0", Variant{}, BadIndexRangeNoData},
		{grid, "0,4", Variant{}, BadIndexRangeNoData},
		{grid, "1", Variant{}, BadIndexRangeNoData},
		{grid, "1,1,1", Variant{}, BadIndexRangeNoData},
		{cube, "1,0:1,1", must(MatrixVariant([]uint8{5, 7}, 1, 2, 1)), Good},

		{VariantOf(int32(1)), "0", Variant{}, BadIndexRangeNoData},
		{Variant{}, "0", Variant{}, BadIndexRangeNoData},
		{VariantOf(XMLElement("<a/>")), "0", Variant{}, BadIndexRangeNoData},

		{VariantOf("hello"), "1:2", VariantOf("el"), Good},
		{VariantOf("hello"), "4", VariantOf("o"), Good},
		{VariantOf("hello"), "3:99", VariantOf("lo"), Good},
		{VariantOf("hello"), "5", Variant{}, BadIndexRangeNoData},
		{VariantOf("水x水"), "1:2", VariantOf("x水"), Good},
		{VariantOf("水x水"), "3", Variant{}, BadIndexRangeNoData}, // 7 bytes, 3 characters
		{VariantOf(""), "0", Variant{}, BadIndexRangeNoData},
		{VariantOf("hello"), "0,0", Variant{}, BadIndexRangeNoData},
		{VariantOf([]byte{1, 2, 3}), "1:9", VariantOf([]byte{2, 3}), Good},
		{VariantOf([]byte{1, 2, 3}), "3", Variant{}, BadIndexRangeNoData},
		{VariantOf([]byte(nil)), "0", Variant{}, BadIndexRangeNoData},

		{words, "0:1", SliceVariant([]string{"hello", "Hot水"}), Good},
		{words, "0:1,2:3", SliceVariant([]string{"ll", "t水"}), Good},
		{words, "0:2,4", SliceVariant([]string{"o", "", ""}), Good}, // where there is something
		{words, "2,0", Variant{}, BadIndexRangeNoData},
		{words, "0,9", Variant{}, BadIndexRangeNoData},
		{words, "0,0,0", Variant{}, BadIndexRangeNoData},
		{blobs, "0:1,0", SliceVariant([][]byte{{1}, {4}}), Good},
		{blobs, "1:2,1", Variant{}, BadIndexRangeNoData},
		{must(MatrixVariant([]string{"ab", "cd"}, 1, 2)), "0,1,0", must(MatrixVariant([]string{"c"}, 1, 1)), Good},
	}
	for _, tt := range tests {
		r, code := ParseNumericRange(tt.r)
		if code != Good {
			t.Fatal(tt.r, code)
		}
		got, code := tt.v.Slice(r)
		if code != tt.code || !got.Equal(tt.want) {
			t.Errorf("%v of %v = %v, %v, want %v, %v", tt.r, tt.v, got, code, tt.want, tt.code)
		}
	}
}

func TestWithRange(t *testing.T) {
	tests := []struct {
		v    Variant
		r    string
		part Variant
		want Variant
		code StatusCode
	}{
		{numbers, "", VariantOf(true), VariantOf(true), Good},
		{numbers, "1:2", SliceVariant([]int32{0, 0}), SliceVariant([]int32{10, 0, 0, 13}), Good},
		{numbers, "3", SliceVariant([]int32{0}), SliceVariant([]int32{10, 11, 12, 0}), Good},
		{numbers, "3", VariantOf(int32(0)), Variant{}, BadIndexRangeDataMismatch},
		{numbers, "1:2", SliceVariant([]int32{0}), Variant{}, BadIndexRangeDataMismatch},
		{numbers, "1:2", SliceVariant([]int32{0, 0, 0}), Variant{}, BadIndexRangeDataMismatch},
		{numbers, "1:2", SliceVariant([]uint32{0, 0}), Variant{}, BadTypeMismatch},
		{numbers, "1:2", Variant{}, Variant{}, BadTypeMismatch},
		{numbers, "3:4", SliceVariant([]int32{0, 0}), Variant{}, BadIndexRangeNoData}, // nothing is written partially
		{numbers, "4", SliceVariant([]int32{0}), Variant{}, BadIndexRangeNoData},
		{numbers, "0,0", SliceVariant([]int32{0}), Variant{}, BadIndexRangeNoData},
		{Variant{}, "0", SliceVariant([]int32{0}), Variant{}, BadIndexRangeNoData},
		{VariantOf(int32(1)), "0", VariantOf(int32(1)), Variant{}, BadIndexRangeNoData},

		{grid, "1:2,0:1", must(MatrixVariant([]int32{-1, -2, -3, -4}, 2, 2)), must(MatrixVariant([]int32{
			0, 1, 2, 3,
			-1, -2, 12, 13,
			-3, -4, 22, 23,
		}, 3, 4)), Good},
		{grid, "1:2,0:1", SliceVariant([]int32{-1, -2, -3, -4}), Variant{}, BadIndexRangeDataMismatch},
		{grid, "2,4", must(MatrixVariant([]int32{0}, 1, 1)), Variant{}, BadIndexRangeNoData},

		{VariantOf("hello"), "1:2", VariantOf("水X"), VariantOf("h水Xlo"), Good},
		{VariantOf("h水llo"), "1", VariantOf("e"), VariantOf("hello"), Good},
		{VariantOf("hello"), "1:2", VariantOf("X"), Variant{}, BadIndexRangeDataMismatch},
		{VariantOf("hello"), "4:5", VariantOf("ab"), Variant{}, BadIndexRangeNoData},
		{VariantOf("hello"), "0", SliceVariant([]string{"x"}), Variant{}, BadIndexRangeDataMismatch},
		{VariantOf([]byte{1, 2, 3}), "0:1", VariantOf([]byte{8, 9}), VariantOf([]byte{8, 9, 3}), Good},
		{VariantOf([]byte{1, 2, 3}), "0:1", VariantOf([]byte{8}), Variant{}, BadIndexRangeDataMismatch},
		{VariantOf([]byte{1, 2, 3}), "2:3", VariantOf([]byte{8, 9}), Variant{}, BadIndexRangeNoData},

		{words, "1", SliceVariant([]string{"x"}), SliceVariant([]string{"hello", "x", ""}), Good},
		{words, "0:1,0:1", SliceVariant([]string{"HE", "hO"}), SliceVariant([]string{"HEllo", "hOt水", ""}), Good},
		{words, "0:2,0", SliceVariant([]string{"a", "b", "c"}), Variant{}, BadIndexRangeNoData},
		{words, "0:1,0", SliceVariant([]string{"a", "bc"}), Variant{}, BadIndexRangeDataMismatch},
		{blobs, "0:1,0", SliceVariant([][]byte{{8}, {9}}), SliceVariant([][]byte{{8, 2, 3}, {9}, nil}), Good},
		{SliceVariant([]Variant{VariantOf(true), VariantOf("a")}), "1", SliceVariant([]Variant{{}}), SliceVariant([]Variant{VariantOf(true), {}}), Good},
	}
	for _, tt := range tests {
		r, code := ParseNumericRange(tt.r)
		if code != Good {
			t.Fatal(tt.r, code)
		}
		before := tt.v.Clone()
		got, code := tt.v.WithRange(r, tt.part)
		if code != tt.code || !got.Equal(tt.want) {
			t.Errorf("%v of %v with %v = %v, %v, want %v, %v", tt.r, tt.v, tt.part, got, code, tt.want, tt.code)
		}
		if !tt.v.Equal(before) {
			t.Errorf("%v: the value itself changed", tt.r)
		}
	}
}

// Every operation table entry has the element size of its type.
func TestSliceOfEveryType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := anyVariant(2).Draw(t, "value")
		if !v.IsArray() || v.Len() == 0 {
			return
		}
		var r NumericRange
		for _, n := range v.Dimensions() {
			low := rapid.IntRange(0, int(n)-1).Draw(t, "low")
			r = append(r, IndexRange{low, rapid.IntRange(low, int(n)-1).Draw(t, "high")})
		}
		part, code := v.Slice(r)
		if code != Good {
			t.Fatalf("%v of %v: %v", r, v, code)
		}
		same, code := v.WithRange(r, part)
		if code != Good || !same.Equal(v) {
			t.Fatalf("writing back %v of %v gave %v, %v", r, v, same, code)
		}
	})
}

func FuzzNumericRange(f *testing.F) {
	for _, s := range []string{"", "1", "1:2", "1:2,0:1", "5:5", "1,", "4294967296", "0,0,0"} {
		f.Add(s)
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, s string) {
		r, code := ParseNumericRange(s)
		if code != Good {
			return
		}
		for _, v := range []Variant{numbers, grid, words, blobs, VariantOf("h水llo"), VariantOf([]byte{1, 2}), VariantOf(1.5), {}} {
			part, code := v.Slice(r)
			if code != Good && code != BadIndexRangeNoData {
				t.Fatalf("%v of %v: %v", r, v, code)
			}
			v.WithRange(r, part)
		}
		again, code := ParseNumericRange(r.String())
		if code != Good || again.String() != r.String() {
			t.Fatalf("%q became %q", r, again)
		}
	}))
}
