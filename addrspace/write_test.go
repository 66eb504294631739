package addrspace

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

func rangeOf(t testing.TB, text string) ua.NumericRange {
	t.Helper()
	r, code := ua.ParseNumericRange(text)
	if code != ua.Good {
		t.Fatal(code)
	}
	return r
}

// Part 4, 5.11.4.2 and 5.11.4.4; threat V11. A refused write changes nothing.
func TestWriteChecks(t *testing.T) {
	const (
		read, write = ua.AccessLevelExTypeCurrentRead, ua.AccessLevelExTypeCurrentWrite
		status      = ua.AccessLevelExTypeStatusWrite
		stamp       = ua.AccessLevelExTypeTimestampWrite
		fullOnly    = ua.AccessLevelExTypeWriteFullArrayOnly
	)
	one := ua.DoubleVariant(1)
	list := ua.SliceVariant([]float64{1, 2, 3, 4})
	matrix, _ := ua.MatrixVariant([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	part, _ := ua.MatrixVariant([]float64{8, 9}, 2, 1)
	s := newSpace(t)
	for _, tt := range []struct {
		name   string
		access ua.AccessLevelExType
		old    ua.Variant
		write  ua.DataValue
		rng    string
		want   ua.StatusCode
		stored ua.Variant
	}{
		{"plain", read | write, one, ua.DataValue{Value: ua.DoubleVariant(2)}, "", ua.Good, ua.DoubleVariant(2)},
		{"write only", write, one, ua.DataValue{Value: ua.DoubleVariant(2)}, "", ua.Good, ua.DoubleVariant(2)},
		{"not writable", read, one, ua.DataValue{Value: ua.DoubleVariant(2)}, "", ua.BadNotWritable, one},
		{"wrong type", read | write, one, ua.DataValue{Value: ua.Int32Variant(2)}, "", ua.BadTypeMismatch, one},
		{"null", read | write, one, ua.DataValue{}, "", ua.BadTypeMismatch, one},
		{"status not supported", read | write, one, ua.DataValue{Value: ua.DoubleVariant(2), Status: ua.UncertainInitialValue}, "", ua.BadWriteNotSupported, one},
		{"status", read | write | status, one, ua.DataValue{Value: ua.DoubleVariant(2), Status: ua.UncertainInitialValue}, "", ua.Good, ua.DoubleVariant(2)},
		{"bad status without a value", read | write | status, one, ua.DataValue{Status: ua.BadDeviceFailure}, "", ua.Good, ua.Variant{}},
		{"uncertain status without a value", read | write | status, one, ua.DataValue{Status: ua.UncertainInitialValue}, "", ua.BadTypeMismatch, one},
		{"timestamp not supported", read | write | status, one, ua.DataValue{Value: ua.DoubleVariant(2), SourceTimestamp: 5}, "", ua.BadWriteNotSupported, one},
		{"timestamp", read | write | stamp, one, ua.DataValue{Value: ua.DoubleVariant(2), SourceTimestamp: 5}, "", ua.Good, ua.DoubleVariant(2)},
		{"server timestamp", ReadWrite, one, ua.DataValue{Value: ua.DoubleVariant(2), ServerTimestamp: 5}, "", ua.BadWriteNotSupported, one},

		{"element", ReadWrite, list, ua.DataValue{Value: ua.SliceVariant([]float64{9})}, "1", ua.Good, ua.SliceVariant([]float64{1, 9, 3, 4})},
		{"elements", ReadWrite, list, ua.DataValue{Value: ua.SliceVariant([]float64{8, 9})}, "2:3", ua.Good, ua.SliceVariant([]float64{1, 2, 8, 9})},
		{"element given as scalar", ReadWrite, list, ua.DataValue{Value: ua.DoubleVariant(9)}, "1", ua.BadIndexRangeDataMismatch, list},
		{"too many elements", ReadWrite, list, ua.DataValue{Value: ua.SliceVariant([]float64{8, 9})}, "1", ua.BadIndexRangeDataMismatch, list},
		{"beyond the end", ReadWrite, list, ua.DataValue{Value: ua.SliceVariant([]float64{8, 9})}, "3:4", ua.BadIndexRangeNoData, list},
		{"far beyond the end", ReadWrite, list, ua.DataValue{Value: ua.SliceVariant([]float64{8})}, "99999999999", ua.BadIndexRangeNoData, list},
		{"wrong element type", ReadWrite, list, ua.DataValue{Value: ua.SliceVariant([]int32{8})}, "1", ua.BadTypeMismatch, list},
		{"null part", ReadWrite, list, ua.DataValue{}, "1", ua.BadTypeMismatch, list},
		{"two dimensions of one", ReadWrite, list, ua.DataValue{Value: part}, "0:1,1", ua.BadIndexRangeNoData, list},
		{"range of a scalar", ReadWrite, one, ua.DataValue{Value: ua.SliceVariant([]float64{8})}, "0", ua.BadIndexRangeNoData, one},
		{"ranges not supported", ReadWrite | fullOnly, list, ua.DataValue{Value: ua.SliceVariant([]float64{8})}, "1", ua.BadWriteNotSupported, list},
		{"column of a matrix", ReadWrite, matrix, ua.DataValue{Value: part}, "0:1,1", ua.Good, must(ua.MatrixVariant([]float64{1, 8, 3, 4, 9, 6}, 2, 3))},
		{"part of a text", ReadWrite, ua.StringVariant("hello"), ua.DataValue{Value: ua.StringVariant("ipp")}, "1:3", ua.Good, ua.StringVariant("hippo")},
		{"part of an array of Byte", ReadWrite, ua.SliceVariant([]byte{1, 2, 3}), ua.DataValue{Value: ua.VariantOf([]byte{8, 9})}, "0:1", ua.Good, ua.SliceVariant([]byte{8, 9, 3})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := variableOf(t, s, NodeSpec{Value: tt.old, AccessLevel: tt.access, SourceTimestamp: 1})
			before := v.Load()
			if got := v.Write(&tt.write, rangeOf(t, tt.rng)); got != tt.want {
				t.Fatalf("Write = %v, want %v", got, tt.want)
			}
			after := v.Load()
			if tt.want != ua.Good {
				if !after.Equal(before) {
					t.Errorf("a refused write changes the value to %+v", after)
				}
				return
			}
			if !after.Value.Equal(tt.stored) || after.Status != tt.write.Status {
				t.Errorf("stored %+v", after)
			}
			if tt.write.SourceTimestamp != 0 && after.SourceTimestamp != tt.write.SourceTimestamp {
				t.Errorf("the given timestamp is lost: %v", after.SourceTimestamp)
			}
		})
	}
}

func must(v ua.Variant, err error) ua.Variant {
	if err != nil {
		panic(err)
	}
	return v
}

// C5: a client's write without a timestamp gets the time of the server.
func TestWriteWithoutTimestampGetsTheServersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSpace(t)
		v := variable(t, s, "V", ua.DoubleVariant(1))
		time.Sleep(time.Minute)
		if code := v.Write(&ua.DataValue{Value: ua.DoubleVariant(2)}, nil); code != ua.Good {
			t.Fatal(code)
		}
		if got := v.Load().SourceTimestamp; got != ua.DateTimeOf(time.Now()) {
			t.Errorf("source timestamp %v", got)
		}
	})
}

func TestUserAccessLevelIsAsked(t *testing.T) {
	s := newSpace(t)
	v := variableOf(t, s, NodeSpec{Value: ua.DoubleVariant(1), UserAccessLevel: new(ua.AccessLevelTypeCurrentRead)})
	if code := v.Write(&ua.DataValue{Value: ua.DoubleVariant(2)}, nil); code != ua.BadUserAccessDenied {
		t.Errorf("Write = %v", code)
	}
	if v.UserAccessLevel() != ua.AccessLevelTypeCurrentRead {
		t.Errorf("UserAccessLevel = %v", v.UserAccessLevel())
	}
}

// Threat V11: what is stored must not share the memory of a receive buffer.
func TestWriteCopies(t *testing.T) {
	s := newSpace(t)
	v := variable(t, s, "V", ua.SliceVariant([]float64{1}))
	sent := []float64{2, 3}
	if code := v.Write(&ua.DataValue{Value: ua.SliceVariant(sent)}, nil); code != ua.Good {
		t.Fatal(code)
	}
	sent[0] = 99
	if !v.Load().Value.Equal(ua.SliceVariant([]float64{2, 3})) {
		t.Error("the stored value shares the sender's memory")
	}
	// A range write leaves the value that others have read as it is.
	read := v.Load()
	if code := v.Write(&ua.DataValue{Value: ua.SliceVariant([]float64{7})}, rangeOf(t, "0")); code != ua.Good {
		t.Fatal(code)
	}
	if !read.Value.Equal(ua.SliceVariant([]float64{2, 3})) {
		t.Error("a read value changes afterwards")
	}
}

func TestValueSizeIsLimited(t *testing.T) {
	s := New(Options{Limits: Limits{ValueSize: 1000}})
	if err := s.LoadNS0(); err != nil {
		t.Fatal(err)
	}
	big := make([]byte, 1001)
	for name, value := range map[string]ua.Variant{
		"text":        ua.StringVariant(string(big)),
		"bytes":       ua.VariantOf(big),
		"numbers":     ua.SliceVariant(make([]float64, 126)),
		"many texts":  ua.SliceVariant(make([]string, 251)),
		"structures":  ua.SliceVariant([]ua.ExtensionObject{ua.ObjectOf(&ua.Argument{Name: string(big)})}),
		"nested":      ua.SliceVariant([]ua.Variant{ua.VariantOf(big)}),
		"xml":         ua.VariantOf(ua.XMLElement(big)),
		"data values": ua.VariantOf(ua.DataValue{Value: ua.VariantOf(big)}),
	} {
		v := variableOf(t, s, NodeSpec{
			BrowseName: ua.QualifiedName{Name: "V"}, ID: ua.StringID(1, name),
			DataType: ns0ID(id.BaseDataType), ValueRank: new(int32(-2)),
		})
		if code := v.Write(&ua.DataValue{Value: value}, nil); code != ua.BadOutOfRange {
			t.Errorf("%s: %v", name, code)
		}
	}
}

func TestWriteWithASource(t *testing.T) {
	s := newSpace(t)
	readOnly := variableOf(t, s, NodeSpec{
		Value:  ua.DoubleVariant(1),
		Source: &Source{Read: func(context.Context) (ua.DataValue, error) { return ua.DataValue{}, nil }},
	})
	if code := readOnly.Write(&ua.DataValue{Value: ua.DoubleVariant(2)}, nil); code != ua.BadWriteNotSupported {
		t.Errorf("write to a source that only reads: %v", code)
	}
	// A source that takes writes and does not read is asked before the store.
	sink := variable(t, s, "V", ua.SliceVariant([]float64{1, 2}))
	sink.SetSource(&Source{Write: func(context.Context, ua.DataValue, ua.NumericRange) error { return nil }})
	part := ua.DataValue{Value: ua.SliceVariant([]float64{9})}
	if _, code := sink.PrepareWrite(&part, rangeOf(t, "5")); code != ua.BadIndexRangeNoData {
		t.Errorf("the source would see a part that does not exist: %v", code)
	}
	dv, code := sink.PrepareWrite(&part, rangeOf(t, "1"))
	if code != ua.Good || !sink.Load().Value.Equal(ua.SliceVariant([]float64{1, 2})) {
		t.Fatalf("PrepareWrite = %v", code)
	}
	if code := sink.CommitWrite(dv, rangeOf(t, "1")); code != ua.Good || !sink.Load().Value.Equal(ua.SliceVariant([]float64{1, 9})) {
		t.Errorf("CommitWrite = %v, value %v", code, sink.Load().Value)
	}
	sink.SetSource(nil)
	if sink.Source() != nil {
		t.Error("the source is still there")
	}
}
