package main

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

func pid() string { return strconv.Itoa(os.Getpid()) }

// The short way through a DataValue ends where the long one does, for values of
// every kind, and finds the same status and length.
func TestPeekAgreesWithDecoding(t *testing.T) {
	now := ua.DateTime(132_000_000_000_000_000)
	matrix, err := ua.MatrixVariant([]int32{1, 2, 3, 4}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range []ua.Variant{
		{},
		ua.VariantOf(true), ua.VariantOf(int8(-1)), ua.VariantOf(byte(1)), ua.VariantOf(int16(1)), ua.VariantOf(uint16(1)),
		ua.VariantOf(int32(1)), ua.VariantOf(uint32(1)), ua.VariantOf(int64(1)), ua.VariantOf(uint64(1)), ua.VariantOf(float32(1)),
		ua.VariantOf(1.5), ua.VariantOf("text"), ua.VariantOf(now), ua.VariantOf(ua.Guid{1}), ua.VariantOf([]byte{1, 2}),
		ua.VariantOf(ua.BadTimeout), ua.VariantOf(ua.NumericID(1, 2)), ua.VariantOf(ua.Text("text")),
		ua.SliceVariant([]int32{1, 2, 3}), ua.SliceVariant([]int32{}), ua.SliceVariant([]string{"a", "b"}), ua.SliceVariant([]float64{1}),
		matrix,
	} {
		for _, status := range []ua.StatusCode{0, ua.BadNodeIDUnknown, ua.UncertainInitialValue} {
			for _, times := range []ua.DataValue{
				{},
				{SourceTimestamp: now, ServerTimestamp: now},
				{SourceTimestamp: now, SourcePicoseconds: 3},
				{ServerTimestamp: now, ServerPicoseconds: 3},
			} {
				v := times
				v.Value, v.Status = value, status
				b := v.AppendTo(nil)
				got, ok := peek(append(b, 0xff, 0xff))
				want := dataValue{size: len(b), status: status, value: !value.IsNull(), length: -1}
				if value.IsArray() {
					want.length = value.Len()
				}
				if !ok || got != want {
					t.Errorf("%v: %+v, %v; want %+v", v, got, ok, want)
				}
				for n := range b {
					if got, ok := peek(b[:n]); ok {
						t.Errorf("%v cut to %d of %d bytes is taken for %+v", v, n, len(b), got)
					}
				}
			}
		}
	}
}

// Every fault in an answer counts under the code that it has, or that tells it best.
func TestFaultsInAnswersAreCounted(t *testing.T) {
	good := ua.DataValue{Value: ua.VariantOf(int32(1)), SourceTimestamp: 1}
	read := func(values ...ua.DataValue) []byte {
		r := ua.ReadResponse{Results: values}
		return r.AppendTo(nil)
	}
	strings := ua.ReadResponse{Results: []ua.DataValue{good, good}}
	strings.ResponseHeader.StringTable = []string{"a header", "that is longer"}
	for _, c := range []struct {
		name string
		body []byte
		want tally
	}{
		{"good", read(good, good), nil},
		{"a header with strings", strings.AppendTo(nil), nil},
		{"one bad", read(good, ua.DataValue{Status: ua.BadNodeIDUnknown}), tally{ua.BadNodeIDUnknown: 1}},
		{"bad with information bits", read(good, ua.DataValue{Status: ua.BadNodeIDUnknown.WithOverflow()}), tally{ua.BadNodeIDUnknown: 1}},
		{"two bad", read(ua.DataValue{Status: ua.BadTimeout}, ua.DataValue{Status: ua.BadTimeout}), tally{ua.BadTimeout: 2}},
		{"no value", read(good, ua.DataValue{}), tally{ua.BadNoData: 1}},
		{"an array", read(good, ua.DataValue{Value: ua.SliceVariant([]int32{1})}), tally{ua.BadTypeMismatch: 1}},
		{"too few", read(good), tally{ua.BadUnknownResponse: 1}},
		{"too many", read(good, good, good), tally{ua.BadUnknownResponse: 1}},
		{"cut", read(good, good)[:40], tally{ua.BadDecodingError: 1}},
		{"nothing", nil, tally{ua.BadUnknownResponse: 1}},
	} {
		var bad tally
		ok := checkRead(c.body, 2, -1, &bad)
		if ok != (c.want == nil) || len(bad) != len(c.want) {
			t.Errorf("%s: %v %v, want %v", c.name, ok, bad, c.want)
		}
		for status, n := range c.want {
			if bad[status] != n {
				t.Errorf("%s: %v, want %v", c.name, bad, c.want)
			}
		}
	}
	var bad tally
	w := ua.WriteResponse{Results: []ua.StatusCode{ua.Good, ua.BadNotWritable, ua.BadNotWritable}}
	if checkStatuses(w.AppendTo(nil), 3, &bad) || bad[ua.BadNotWritable] != 2 {
		t.Errorf("writes: %v", bad)
	}
	names := map[string]int64{}
	bad.into(names)
	if names["BadNotWritable"] != 2 {
		t.Errorf("by name: %v", names)
	}
}

// Times that a histogram cannot hold count as the nearest that it can.
func TestTimesBeyondTheHistogramCount(t *testing.T) {
	h := newHistogram()
	var batch times
	for _, d := range []int64{0, 499, 1499, 1501, 59_999_999_000, 3_600_000_000_000} {
		batch.record(time.Duration(d), h)
	}
	batch.flush(h)
	if n := h.h.TotalCount(); n != 6 {
		t.Errorf("%d of 6 times count", n)
	}
	if l := h.latency(); l.P50 != 1 || l.Max < longest-longest/1000 {
		t.Errorf("%+v", l)
	}
}
