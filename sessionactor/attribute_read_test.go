package sessionactor_test

import (
	"bytes"
	"testing"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// serve calls f in place of the channel's reader, with a request of the session
// and a function that serves a body and returns the message that answers it.
func (w *bench) serve(t *testing.T, request ua.Structure, f func(body []byte, ask func(body []byte) []byte)) {
	t.Helper()
	loop := func(batch *channelactor.Batch, req channelactor.Request) {
		ask := func(body []byte) []byte {
			// The batch is empty, and what Begin returns is the memory that the
			// answer will stand in, with the frame of a message in front.
			empty := batch.Begin()
			batch.Drop(empty)
			w.tap.Service.Serve(batch, channelactor.Request{ID: req.ID, Body: body})
			answer := bytes.Clone(empty[:batch.Len()][len(empty):])
			batch.Drop(empty)
			return answer
		}
		f(bytes.Clone(req.Body), ask)
	}
	w.tap.next.Store(&loop)
	prepared, err := client.Prepare(request)
	if err != nil {
		t.Fatal(err)
	}
	done := make(answers, 64)
	if err := w.client.Send(prepared, done); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// answerOf decodes a message; it is nil when the message is a fault with the code.
func answerOf(t *testing.T, message []byte) (*ua.ReadResponse, ua.StatusCode) {
	t.Helper()
	d := codec.NewDecoder(message, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	if typeID == ua.NumericID(0, id.ServiceFault_Encoding_DefaultBinary) {
		var fault ua.ServiceFault
		fault.DecodeFrom(d)
		return nil, fault.ResponseHeader.ServiceResult
	}
	resp := new(ua.ReadResponse)
	resp.DecodeFrom(d)
	if err := d.Finish(); err != nil || typeID != ua.NumericID(0, id.ReadResponse_Encoding_DefaultBinary) {
		t.Errorf("answer %v: %v", typeID, err)
	}
	return resp, resp.ResponseHeader.ServiceResult
}

// A Read is served while it is decoded. One that turns out to be malformed is a
// fault all the same, and never a part of an answer (Part 4, 5.3).
func TestMalformedReadIsAFault(t *testing.T) {
	w := newBench(t)
	request := values(4, nil)
	request.NodesToRead[2].IndexRange = "1"
	w.serve(t, request, func(body []byte, ask func([]byte) []byte) {
		if resp, code := answerOf(t, ask(body)); resp == nil || len(resp.Results) != 4 || code != ua.Good {
			t.Errorf("whole request: %+v, %v", resp, code)
		}
		for n := len(body) - 1; n > len(body)-4*18-20; n-- {
			if resp, code := answerOf(t, ask(body[:n:n])); resp != nil || code != ua.BadDecodingError {
				t.Errorf("%d of %d bytes: %+v, %v", n, len(body), resp, code)
			}
		}
		if resp, code := answerOf(t, ask(append(body[:len(body):len(body)], 0))); resp != nil || code != ua.BadDecodingError {
			t.Errorf("a byte too many: %+v, %v", resp, code)
		}
		bad := bytes.Clone(body)
		bad[len(bad)-18] = 0x07 // the last NodeId has an encoding that there is not
		if resp, code := answerOf(t, ask(bad)); resp != nil || code != ua.BadDecodingError {
			t.Errorf("a NodeId of no kind: %+v, %v", resp, code)
		}
	})
}

// What a request says is refused before an operation is served, and after it
// was found to be well formed.
func TestReadIsRefusedAsAWhole(t *testing.T) {
	w := newBench(t)
	for name, c := range map[string]struct {
		change func(*ua.ReadRequest)
		want   ua.StatusCode
	}{
		"no nodes":       {func(r *ua.ReadRequest) { r.NodesToRead = nil }, ua.BadNothingToDo},
		"too many nodes": {func(r *ua.ReadRequest) { r.NodesToRead = values(10_001, nil).NodesToRead }, ua.BadTooManyOperations},
		"MaxAge":         {func(r *ua.ReadRequest) { r.MaxAge = -1 }, ua.BadMaxAgeInvalid},
		"timestamps":     {func(r *ua.ReadRequest) { r.TimestampsToReturn = 4 }, ua.BadTimestampsToReturnInvalid},
	} {
		request := values(1, nil)
		c.change(request)
		w.serve(t, values(1, nil), func(body []byte, ask func([]byte) []byte) {
			body = replaceParameters(t, body, request)
			if resp, code := answerOf(t, ask(body)); resp != nil || code != c.want {
				t.Errorf("%s: %+v, %v", name, resp, code)
			}
			if resp, code := answerOf(t, ask(append(body, 0))); resp != nil || code != ua.BadDecodingError {
				t.Errorf("%s and malformed: %+v, %v", name, resp, code)
			}
		})
	}
}

// replaceParameters puts the parameters of a request behind the type id and
// header of another one.
func replaceParameters(t *testing.T, body []byte, request *ua.ReadRequest) []byte {
	t.Helper()
	d := codec.NewDecoder(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	request.RequestHeader.DecodeFrom(d)
	if d.Err() != nil {
		t.Error(d.Err())
	}
	return request.AppendTo(typeID.AppendTo(nil))
}

// The short way of numbers and the general way give the same results, in any
// mixture, for all timestamps: Default Binary is what is sent anyway (Part 4,
// 5.11.2.2), and asking for it takes the general way.
func TestShortWayReadsTheSame(t *testing.T) {
	w := newBench(t)
	variable := func(i uint32) *addrspace.Variable { return w.space.Node(ua.NumericID(1, 1001+i)).Variable() }
	variable(1).Store(ua.DataValue{Value: ua.VariantOf("text")})
	variable(2).Store(ua.DataValue{Value: ua.VariantOf(1.5), Status: ua.UncertainLastUsableValue, SourceTimestamp: 5, SourcePicoseconds: 9})
	variable(3).Store(ua.DataValue{Status: ua.BadNoCommunication})
	variable(4).Store(ua.DataValue{Value: ua.SliceVariant([]int32{1, 2, 3})})
	for i, access := range []ua.AccessLevelExType{0, ua.AccessLevelExTypeCurrentWrite} {
		_, err := w.space.AddNode(addrspace.NodeSpec{
			ID: ua.NumericID(1, uint32(2001+i)), Class: ua.NodeClassVariable,
			BrowseName: ua.QualifiedName{NamespaceIndex: 1, Name: string(rune('a' + i))},
			Parent:     ua.NumericID(0, id.ObjectsFolder), Value: ua.VariantOf(int32(1)), AccessLevel: access,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	short := values(20, nil)
	for _, node := range []ua.NodeID{
		ua.NumericID(1, 2001), ua.NumericID(1, 2002), ua.NumericID(1, 77), ua.NumericID(9, 1),
		{},
		ua.NumericID(0, id.ObjectsFolder), ua.NumericID(0, id.Server_ServiceLevel), ua.StringID(1, "x"),
	} {
		short.NodesToRead = append(short.NodesToRead, client.ValueID(node), client.ValueID(ua.NumericID(1, 1050)))
	}
	general, mixed := new(ua.ReadRequest), new(ua.ReadRequest)
	for i, op := range short.NodesToRead {
		mixed.NodesToRead = append(mixed.NodesToRead, op)
		op.DataEncoding.Name = "Default Binary"
		general.NodesToRead = append(general.NodesToRead, op)
		if i%3 == 0 {
			mixed.NodesToRead[i] = op
		}
	}
	for timestamps := range ua.TimestampsToReturnNeither + 1 {
		w.serve(t, values(1, nil), func(body []byte, ask func([]byte) []byte) {
			var all [3]*ua.ReadResponse
			for i, request := range []*ua.ReadRequest{short, general, mixed} {
				request.TimestampsToReturn = timestamps
				resp, code := answerOf(t, ask(replaceParameters(t, body, request)))
				if resp == nil {
					t.Errorf("request %d: %v", i, code)
					return
				}
				all[i] = resp
			}
			for i := range short.NodesToRead {
				for _, resp := range all {
					resp.Results[i].ServerTimestamp = min(resp.Results[i].ServerTimestamp, 1) // there or not
				}
				want := all[1].Results[i]
				if !all[0].Results[i].Equal(want) || !all[2].Results[i].Equal(want) {
					t.Errorf("%v, timestamps %v: %+v and %+v, want %+v", short.NodesToRead[i].NodeID, timestamps,
						all[0].Results[i], all[2].Results[i], want)
				}
			}
		})
	}
}
