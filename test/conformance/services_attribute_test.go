package conformance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// attributeNodes adds the nodes that the tables of this file name.
func attributeNodes(w *world) {
	w.variable("number", int32(42))
	w.variable("text", "0123456789")
	w.variable("bytes", []byte("0123456789"))
	w.variable("array", []int32{0, 1, 2, 3, 4})
	w.variable("texts", []string{"abc", "def"})
	matrix, _ := ua.MatrixVariant([]int32{1, 2, 3, 4, 5, 6}, 2, 3)
	w.add("matrix", addrspace.NodeSpec{Class: ua.NodeClassVariable, Value: matrix, AccessLevel: addrspace.ReadWrite})
	w.add("enum", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, DataType: ua.NumericID(0, id.ServerState), Value: ua.VariantOf(int32(1)), AccessLevel: addrspace.ReadWrite,
	})
	w.add("range", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, DataType: ua.NumericID(0, id.Range), Value: ua.VariantOf(ua.ObjectOf(&ua.Range{High: 1})), AccessLevel: addrspace.ReadWrite,
	})
	w.add("any", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, DataType: ua.NumericID(0, id.BaseDataType), Value: ua.VariantOf(int32(1)), AccessLevel: addrspace.ReadWrite,
	})
	w.add("anyNumber", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, DataType: ua.NumericID(0, id.Number), Value: ua.VariantOf(int32(1)), AccessLevel: addrspace.ReadWrite,
	})
	w.add("constant", addrspace.NodeSpec{Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(1))})
	w.add("valueOnly", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(1)),
		AccessLevel: ua.AccessLevelExTypeCurrentRead | ua.AccessLevelExTypeCurrentWrite,
	})
	w.add("writeOnly", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(1)), AccessLevel: ua.AccessLevelExTypeCurrentWrite,
	})
	none := ua.AccessLevelType(0)
	w.add("forbidden", addrspace.NodeSpec{
		Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(1)), AccessLevel: addrspace.ReadWrite, UserAccessLevel: &none,
	})
	w.add("object", addrspace.NodeSpec{Class: ua.NodeClassObject})
	source := func(name string, read func() (ua.DataValue, error)) {
		w.add(name, addrspace.NodeSpec{
			Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(0)), AccessLevel: addrspace.ReadWrite,
			Source: &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) { return read() }},
		})
	}
	source("source", func() (ua.DataValue, error) { return ua.DataValue{Value: ua.VariantOf(int32(7))}, nil })
	source("offline", func() (ua.DataValue, error) {
		return ua.DataValue{}, fmt.Errorf("no answer: %w", ua.BadNoCommunication)
	})
	source("broken", func() (ua.DataValue, error) { return ua.DataValue{}, errors.New("open /etc/secret: denied") })
	source("panics", func() (ua.DataValue, error) { panic("a bug of the program") })
	sink := func(name string, write func() error) {
		w.add(name, addrspace.NodeSpec{
			Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(0)), AccessLevel: addrspace.ReadWrite,
			Source: &addrspace.Source{Write: func(context.Context, ua.DataValue, ua.NumericRange) error { return write() }},
		})
	}
	sink("sink", func() error { return nil })
	sink("refuses", func() error { return fmt.Errorf("too hot: %w", ua.BadOutOfRange) })
	sink("sinkBroken", func() error { return errors.New("disk full") })
	sink("sinkPanics", func() error { panic("a bug of the program") })
}

// Each operation of a Read has a status of its own (Part 4, 5.11.2.4).
func TestReadStatusCodes(t *testing.T) {
	value := ua.AttributeIDValue
	rows := []struct {
		node      string
		attribute ua.AttributeID
		indexes   string
		encoding  ua.QualifiedName
		want      ua.StatusCode
		text      string // the value, where it is Good
	}{
		{node: "number", attribute: value, text: "42"},
		{node: "nobody", attribute: value, want: ua.BadNodeIDUnknown},
		{node: "nobody", attribute: 99, want: ua.BadNodeIDUnknown},
		{node: "number", attribute: 0, want: ua.BadAttributeIDInvalid},
		{node: "number", attribute: 28, want: ua.BadAttributeIDInvalid},
		{node: "number", attribute: math.MaxUint32, want: ua.BadAttributeIDInvalid},
		{node: "number", attribute: ua.AttributeIDEventNotifier, want: ua.BadAttributeIDInvalid},
		{node: "object", attribute: value, want: ua.BadAttributeIDInvalid},
		{node: "object", attribute: ua.AttributeIDEventNotifier, text: "0"},
		{node: "object", attribute: ua.AttributeIDNodeClass, text: "1"},
		{node: "writeOnly", attribute: value, want: ua.BadNotReadable},
		{node: "forbidden", attribute: value, want: ua.BadUserAccessDenied},

		{node: "array", attribute: value, indexes: "1", text: "[1]"},
		{node: "array", attribute: value, indexes: "1:3", text: "[1 2 3]"},
		{node: "array", attribute: value, indexes: "3:100", text: "[3 4]"}, // what there is
		{node: "array", attribute: value, indexes: "0:0", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: "2:1", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: "-1", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: "1:", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: ":1", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: "1,", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: "a", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: " 1", want: ua.BadIndexRangeInvalid},
		{node: "array", attribute: value, indexes: "5", want: ua.BadIndexRangeNoData},
		{node: "array", attribute: value, indexes: "99999999999999999999", want: ua.BadIndexRangeNoData},
		{node: "array", attribute: value, indexes: "0,0", want: ua.BadIndexRangeNoData},
		{node: "number", attribute: value, indexes: "0", want: ua.BadIndexRangeNoData},
		{node: "text", attribute: value, indexes: "2:4", text: "234"},
		{node: "text", attribute: value, indexes: "10", want: ua.BadIndexRangeNoData},
		{node: "bytes", attribute: value, indexes: "2:4", text: "[50 51 52]"},
		{node: "texts", attribute: value, indexes: "1,0:1", text: "[de]"},
		{node: "matrix", attribute: value, indexes: "1,0:1", text: "[4 5]"},
		{node: "matrix", attribute: value, indexes: "1", want: ua.BadIndexRangeNoData},
		{node: "matrix", attribute: value, indexes: "2,0", want: ua.BadIndexRangeNoData},
		{node: "source", attribute: value, indexes: "x", want: ua.BadIndexRangeInvalid},

		{node: "range", attribute: value, encoding: ua.QualifiedName{Name: "Default Binary"}, text: "?"},
		{node: "range", attribute: value, encoding: ua.QualifiedName{Name: "Default XML"}, want: ua.BadDataEncodingUnsupported},
		{node: "range", attribute: value, encoding: ua.QualifiedName{Name: "Default JSON"}, want: ua.BadDataEncodingUnsupported},
		{node: "range", attribute: value, encoding: ua.QualifiedName{Name: "Something"}, want: ua.BadDataEncodingInvalid},
		{node: "range", attribute: value, encoding: ua.QualifiedName{NamespaceIndex: 1, Name: "Default Binary"}, want: ua.BadDataEncodingInvalid},
		{node: "number", attribute: ua.AttributeIDDisplayName, encoding: ua.QualifiedName{Name: "Default Binary"}, want: ua.BadDataEncodingInvalid},

		{node: "source", attribute: value, text: "7"},
		{node: "offline", attribute: value, want: ua.BadNoCommunication},
		{node: "broken", attribute: value, want: ua.BadInternalError},
		{node: "panics", attribute: value, want: ua.BadInternalError},
	}
	inTime(t, func(t *testing.T, w *world) {
		attributeNodes(w)
		s := w.session()
		var all ua.ReadRequest
		check := func(how string, i int, dv ua.DataValue) {
			row := rows[i]
			what := fmt.Sprintf("%s: %s, attribute %d [%s] %s", how, row.node, row.attribute, row.indexes, row.encoding.Name)
			expect(t, what, dv.Status, row.want)
			if text := fmt.Sprint(dv.Value.Any()); row.want == ua.Good && row.text != "?" && text != row.text {
				t.Errorf("%s: %s, want %s", what, text, row.text)
			}
			if row.want != ua.Good && !dv.Value.IsNull() {
				t.Errorf("%s: a value with it: %v", what, dv.Value)
			}
		}
		for i, row := range rows {
			op := ua.ReadValueID{NodeID: w.node(row.node), AttributeID: row.attribute, IndexRange: row.indexes, DataEncoding: row.encoding}
			all.NodesToRead = append(all.NodesToRead, op)
			one := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{op}})
			check("alone", i, one.Results[0])
		}
		for i, dv := range rawpeer.Do[*ua.ReadResponse](s, &all).Results {
			check("together", i, dv)
		}
		for _, null := range []ua.NodeID{{}, ua.StringID(0, ""), ua.NumericID(999, 1)} {
			if code := readValue(s, null).Status; code != ua.BadNodeIDUnknown && code != ua.BadNodeIDInvalid {
				t.Errorf("%v: %v", null, code)
			}
		}
		for _, age := range []float64{-1, math.NaN(), math.Inf(-1)} {
			expect(t, "MaxAge", s.Result(&ua.ReadRequest{MaxAge: age, NodesToRead: all.NodesToRead[:1]}), ua.BadMaxAgeInvalid)
		}
		for _, age := range []float64{0, 1, math.MaxFloat64, math.Inf(1)} {
			expect(t, "MaxAge", s.Result(&ua.ReadRequest{MaxAge: age, NodesToRead: all.NodesToRead[:1]}), ua.Good)
		}
	})
}

// Each operation of a Write has a status of its own, and what is refused changes
// nothing (Part 4, 5.11.4.4).
func TestWriteStatusCodes(t *testing.T) {
	now := ua.DateTimeOf(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	of := func(value any) ua.DataValue { return ua.DataValue{Value: variant(t, value)} }
	value := ua.AttributeIDValue
	rows := []struct {
		node      string
		attribute ua.AttributeID
		indexes   string
		dv        ua.DataValue
		want      ua.StatusCode
		text      string // of the whole value afterwards
	}{
		{"number", value, "", of(int32(43)), ua.Good, "43"},
		{"number", value, "", ua.DataValue{Value: ua.VariantOf(int32(44)), Status: ua.UncertainSensorNotAccurate, SourceTimestamp: now}, ua.Good, "44"},
		{"number", value, "", of(int64(1)), ua.BadTypeMismatch, "44"},
		{"number", value, "", of(uint32(1)), ua.BadTypeMismatch, "44"},
		{"number", value, "", of("1"), ua.BadTypeMismatch, "44"},
		{"number", value, "", of([]int32{1}), ua.BadTypeMismatch, "44"},
		{"number", value, "", ua.DataValue{}, ua.BadTypeMismatch, "44"},
		{"number", value, "", ua.DataValue{Value: ua.VariantOf(int32(1)), ServerTimestamp: now}, ua.BadWriteNotSupported, "44"},
		{"number", value, "0", of(int32(1)), ua.BadIndexRangeNoData, "44"},
		{"nobody", value, "", of(int32(1)), ua.BadNodeIDUnknown, ""},
		{"number", 0, "", of(int32(1)), ua.BadAttributeIDInvalid, "44"},
		{"number", 28, "", of(int32(1)), ua.BadAttributeIDInvalid, "44"},
		{"object", value, "", of(int32(1)), ua.BadAttributeIDInvalid, ""},
		{"number", ua.AttributeIDNodeID, "", of(ua.NumericID(0, 1)), ua.BadNotWritable, "44"},
		{"number", ua.AttributeIDBrowseName, "", of(ua.QualifiedName{Name: "other"}), ua.BadNotWritable, "44"},
		{"number", ua.AttributeIDDisplayName, "", of(ua.LocalizedText{Text: "other"}), ua.BadNotWritable, "44"},
		{"constant", value, "", of(int32(2)), ua.BadNotWritable, "1"},
		{"forbidden", value, "", of(int32(2)), ua.BadUserAccessDenied, "1"},
		{"writeOnly", value, "", of(int32(2)), ua.Good, "2"},
		{"valueOnly", value, "", of(int32(2)), ua.Good, "2"},
		{"valueOnly", value, "", ua.DataValue{Value: ua.VariantOf(int32(3)), Status: ua.BadOutOfService}, ua.BadWriteNotSupported, "2"},
		{"valueOnly", value, "", ua.DataValue{Value: ua.VariantOf(int32(3)), SourceTimestamp: now}, ua.BadWriteNotSupported, "2"},
		{"source", value, "", of(int32(2)), ua.BadWriteNotSupported, "0"},

		{"array", value, "1", of([]int32{11}), ua.Good, "[0 11 2 3 4]"},
		{"array", value, "3:4", of([]int32{13, 14}), ua.Good, "[0 11 2 13 14]"},
		{"array", value, "1:2", of([]int32{1}), ua.BadIndexRangeDataMismatch, "[0 11 2 13 14]"},
		{"array", value, "1:2", of([]int32{1, 2, 3}), ua.BadIndexRangeDataMismatch, "[0 11 2 13 14]"},
		{"array", value, "4:5", of([]int32{1, 2}), ua.BadIndexRangeNoData, "[0 11 2 13 14]"},
		{"array", value, "9", of([]int32{1}), ua.BadIndexRangeNoData, "[0 11 2 13 14]"},
		{"array", value, "1:0", of([]int32{1}), ua.BadIndexRangeInvalid, "[0 11 2 13 14]"},
		{"array", value, "1", of([]int64{1}), ua.BadTypeMismatch, "[0 11 2 13 14]"},
		{"array", value, "", of(int32(1)), ua.BadTypeMismatch, "[0 11 2 13 14]"},
		{"array", value, "", of([]int32{}), ua.Good, "[]"},
		{"matrix", value, "1,0:1", func() ua.DataValue {
			part, _ := ua.MatrixVariant([]int32{44, 55}, 1, 2)
			return ua.DataValue{Value: part}
		}(), ua.Good, "[1 2 3 44 55 6]"},
		{"matrix", value, "", of([]int32{1}), ua.BadTypeMismatch, "[1 2 3 44 55 6]"},
		{"text", value, "2:3", of("AB"), ua.Good, "01AB456789"},
		{"text", value, "2:3", of("ABC"), ua.BadIndexRangeDataMismatch, "01AB456789"},
		{"bytes", value, "0:1", of([]byte{1, 2}), ua.Good, "[1 2 50 51 52 53 54 55 56 57]"},

		{"enum", value, "", of(int32(2)), ua.Good, "2"},
		{"enum", value, "", of(int32(99)), ua.BadOutOfRange, "2"},
		{"range", value, "", of(ua.ObjectOf(&ua.Range{High: 2})), ua.Good, "?"},
		{"range", value, "", of(ua.ObjectOf(&ua.EUInformation{})), ua.BadTypeMismatch, "?"},
		{"any", value, "", of("a text"), ua.Good, "a text"},
		{"anyNumber", value, "", of(2.5), ua.Good, "2.5"},
		{"anyNumber", value, "", of("2.5"), ua.BadTypeMismatch, "2.5"},

		{"sink", value, "", of(int32(5)), ua.Good, "5"},
		{"refuses", value, "", of(int32(5)), ua.BadOutOfRange, "0"},
		{"sinkBroken", value, "", of(int32(5)), ua.BadInternalError, "0"},
		{"sinkPanics", value, "", of(int32(5)), ua.BadInternalError, "0"},
		{"sink", value, "", of("5"), ua.BadTypeMismatch, "5"},
	}
	for _, together := range []bool{false, true} {
		inTime(t, func(t *testing.T, w *world) {
			attributeNodes(w)
			s := w.session()
			var ops []ua.WriteValue
			for _, row := range rows {
				ops = append(ops, ua.WriteValue{NodeID: w.node(row.node), AttributeID: row.attribute, IndexRange: row.indexes, Value: row.dv})
			}
			var results []ua.StatusCode
			if together {
				results = rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: ops}).Results
			}
			for i, row := range rows {
				what := fmt.Sprintf("%d: %s, attribute %d [%s]", i, row.node, row.attribute, row.indexes)
				if together {
					expect(t, what, results[i], row.want)
					continue
				}
				expect(t, what, rawpeer.Do[*ua.WriteResponse](s, &ua.WriteRequest{NodesToWrite: ops[i : i+1]}).Results[0], row.want)
				node := w.Space().Node(w.node(row.node))
				if row.text == "" || row.text == "?" {
					continue
				}
				if text := fmt.Sprint(node.Variable().Load().Value.Any()); text != row.text {
					t.Errorf("%s: the value is %s, want %s", what, text, row.text)
				}
			}
			if dv := w.Space().Node(w.node("number")).Variable().Load(); dv.Status != ua.UncertainSensorNotAccurate || dv.SourceTimestamp != now {
				t.Errorf("status and timestamp that were written: %v", dv)
			}
		})
	}
}

// What a client wrote stays as it was when its buffers are used again (threat
// V11: values that aliased a pooled receive buffer).
func TestWrittenValuesAreCopies(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		var want []string
		var names []ua.NodeID
		for i := range 20 {
			name := fmt.Sprint("v", i)
			w.variable(name, "")
			names = append(names, w.node(name))
		}
		for i, node := range names {
			text := string(slices.Repeat([]byte{byte('a' + i)}, 1000))
			want = append(want, text)
			expect(t, "write", writeValue(t, s, node, text), ua.Good)
		}
		for i, node := range names {
			if got, _ := ua.As[string](readValue(s, node).Value); got != want[i] {
				t.Errorf("value %d is another one", i)
			}
		}
	})
}

// Values beyond the size that a node may hold are refused (threat V11).
func TestLargeValues(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		w.variable("v", []byte{1})
		expect(t, "too large for the node", writeValue(t, s, w.node("v"), make([]byte, 2000)), ua.BadOutOfRange)
		expect(t, "as large as it may be", writeValue(t, s, w.node("v"), make([]byte, 900)), ua.Good)
	}, func(c *uahive.Config) { c.Limits.Nodes.ValueSize = 1000 })
}
