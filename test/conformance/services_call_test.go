package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

func argument(name string, dataType uint32) ua.Argument {
	return ua.Argument{Name: name, DataType: ua.NumericID(0, dataType), ValueRank: -1}
}

func callOf(object, method ua.NodeID, args ...ua.Variant) *ua.CallRequest {
	return &ua.CallRequest{MethodsToCall: []ua.CallMethodRequest{{ObjectID: object, MethodID: method, InputArguments: args}}}
}

// Each call has a status of its own; arguments that do not fit have one each
// (Part 4, 5.12.2.4). Threat V12.
func TestCallStatusCodes(t *testing.T) {
	for _, inline := range []bool{false, true} {
		inTime(t, func(t *testing.T, w *world) {
			add := w.method("add", inline, func(_ context.Context, c *addrspace.Call) error {
				a, _ := ua.As[int32](c.Inputs[0])
				b, _ := ua.As[int32](c.Inputs[1])
				if b == 99 {
					c.InputResults = []ua.StatusCode{ua.Good, ua.BadOutOfRange}
					return ua.BadInvalidArgument
				}
				c.Outputs = []ua.Variant{ua.VariantOf(a + b)}
				return nil
			}, argument("A", id.Int32), argument("B", id.Int32))
			refuses := w.method("refuses", inline, func(context.Context, *addrspace.Call) error {
				return fmt.Errorf("not now: %w", ua.BadInvalidState)
			})
			broken := w.method("broken", inline, func(context.Context, *addrspace.Call) error { return errors.New("disk full") })
			panics := w.method("panics", inline, func(context.Context, *addrspace.Call) error { panic("a bug of the program") })
			empty := w.add("empty", addrspace.NodeSpec{Class: ua.NodeClassMethod, ReferenceType: ua.NumericID(0, id.HasComponent)}).ID()
			off := w.add("off", addrspace.NodeSpec{
				Class: ua.NodeClassMethod, ReferenceType: ua.NumericID(0, id.HasComponent), NotExecutable: true, Method: &addrspace.Method{},
			}).ID()
			denied := w.add("denied", addrspace.NodeSpec{
				Class: ua.NodeClassMethod, ReferenceType: ua.NumericID(0, id.HasComponent), UserNotExecutable: true, Method: &addrspace.Method{},
			}).ID()
			w.variable("variable", int32(1))
			one, two, text := ua.VariantOf(int32(1)), ua.VariantOf(int32(2)), ua.VariantOf("x")
			rows := []struct {
				what   string
				call   *ua.CallRequest
				want   ua.StatusCode
				inputs []ua.StatusCode
				output string
			}{
				{"a good call", callOf(objects, add, one, two), ua.Good, nil, "3"},
				{"unknown object", callOf(unknownNode, add, one, two), ua.BadNodeIDUnknown, nil, ""},
				{"null object", callOf(ua.NodeID{}, add, one, two), ua.BadNodeIDUnknown, nil, ""},
				{"unknown method", callOf(objects, unknownNode), ua.BadMethodInvalid, nil, ""},
				{"null method", callOf(objects, ua.NodeID{}), ua.BadMethodInvalid, nil, ""},
				{"a variable as method", callOf(objects, w.node("variable")), ua.BadMethodInvalid, nil, ""},
				{"a method of another object", callOf(serverNode, add, one, two), ua.BadMethodInvalid, nil, ""},
				{"no arguments", callOf(objects, add), ua.BadArgumentsMissing, nil, ""},
				{"one argument", callOf(objects, add, one), ua.BadArgumentsMissing, nil, ""},
				{"three arguments", callOf(objects, add, one, two, one), ua.BadTooManyArguments, nil, ""},
				{"arguments of a method without any", callOf(objects, refuses, one), ua.BadTooManyArguments, nil, ""},
				{"a wrong type", callOf(objects, add, one, text), ua.BadInvalidArgument, []ua.StatusCode{ua.Good, ua.BadTypeMismatch}, ""},
				{"an array", callOf(objects, add, ua.SliceVariant([]int32{1}), two), ua.BadInvalidArgument, []ua.StatusCode{ua.BadTypeMismatch, ua.Good}, ""},
				{"null arguments", callOf(objects, add, ua.Variant{}, ua.Variant{}), ua.BadInvalidArgument, []ua.StatusCode{ua.BadTypeMismatch, ua.BadTypeMismatch}, ""},
				{"an argument that the method refuses", callOf(objects, add, one, ua.VariantOf(int32(99))), ua.BadInvalidArgument, []ua.StatusCode{ua.Good, ua.BadOutOfRange}, ""},
				{"the method's own status", callOf(objects, refuses), ua.BadInvalidState, nil, ""},
				{"an error without a status", callOf(objects, broken), ua.BadInternalError, nil, ""},
				{"a panic", callOf(objects, panics), ua.BadInternalError, nil, ""},
				{"nothing to run", callOf(objects, empty), ua.BadNotImplemented, nil, ""},
				{"not executable", callOf(objects, off), ua.BadNotExecutable, nil, ""},
				{"not executable by the user", callOf(objects, denied), ua.BadUserAccessDenied, nil, ""},
				{"another good call", callOf(objects, add, two, two), ua.Good, nil, "4"},
			}
			s := w.session()
			all := &ua.CallRequest{}
			check := func(how string, i int, r ua.CallMethodResult) {
				row := rows[i]
				expect(t, how+": "+row.what, r.StatusCode, row.want)
				if !slices.Equal(r.InputArgumentResults, row.inputs) {
					t.Errorf("%s: %s: input results %v", how, row.what, r.InputArgumentResults)
				}
				if row.output != "" && (len(r.OutputArguments) != 1 || fmt.Sprint(r.OutputArguments[0].Any()) != row.output) || row.output == "" && len(r.OutputArguments) > 0 {
					t.Errorf("%s: %s: outputs %v", how, row.what, r.OutputArguments)
				}
				if len(r.InputArgumentDiagnosticInfos) > 0 {
					t.Errorf("%s: %s: diagnostics", how, row.what)
				}
			}
			for i, row := range rows {
				all.MethodsToCall = append(all.MethodsToCall, row.call.MethodsToCall...)
				check("alone", i, rawpeer.Do[*ua.CallResponse](s, row.call).Results[0])
			}
			for i, r := range rawpeer.Do[*ua.CallResponse](s, all).Results {
				check("together", i, r)
			}
		})
	}
}

// The server's own methods answer for subscriptions of the caller's session only
// (Part 5, 9.1 and 9.2). Threat V12: built-in methods trusted their arguments.
func TestGetMonitoredItemsAndResendData(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s, other := w.session(), w.session()
		w.variable("v", int32(1))
		sub := subscribe(s, 100)
		ids := watch(t, s, sub, monitor(w.node("v"), 71), monitor(w.node("v"), 72))
		publish(s)
		for method, name := range map[uint32]string{id.Server_GetMonitoredItems: "GetMonitoredItems", id.Server_ResendData: "ResendData"} {
			node := ua.NumericID(0, method)
			call := func(s *rawpeer.Session, args ...ua.Variant) ua.StatusCode {
				return rawpeer.Do[*ua.CallResponse](s, callOf(serverNode, node, args...)).Results[0].StatusCode
			}
			expect(t, name+" without an argument", call(s), ua.BadArgumentsMissing)
			expect(t, name+" with two", call(s, ua.VariantOf(sub), ua.VariantOf(sub)), ua.BadTooManyArguments)
			for _, wrong := range []ua.Variant{{}, ua.VariantOf("x"), ua.VariantOf(int32(1)), ua.SliceVariant([]uint32{sub}), ua.VariantOf(ua.ObjectOf(&ua.Range{}))} {
				expect(t, name+" with a wrong type", call(s, wrong), ua.BadInvalidArgument)
			}
			expect(t, name+" of no subscription", call(s, ua.VariantOf(sub+1)), ua.BadSubscriptionIDInvalid)
			expect(t, name+" of another session", call(other, ua.VariantOf(sub)), ua.BadUserAccessDenied)
			expect(t, name, call(s, ua.VariantOf(sub)), ua.Good)
		}
		out := rawpeer.Do[*ua.CallResponse](s, callOf(serverNode, ua.NumericID(0, id.Server_GetMonitoredItems), ua.VariantOf(sub))).Results[0].OutputArguments
		server, _ := ua.As[[]uint32](out[0])
		client, _ := ua.As[[]uint32](out[1])
		if !slices.Equal(server, ids) || !slices.Equal(client, []uint32{71, 72}) {
			t.Errorf("GetMonitoredItems: %v", out)
		}
		if list := changes(t, publish(s)); len(list) != 2 {
			t.Errorf("ResendData sent %+v", list)
		}
	})
}

// The context of a call ends with the client's TimeoutHint, with Cancel, with the
// session and with the channel, and each answer is given once (Part 4, 5.7.5 and
// 7.33). Threats R2 and V12.
func TestTheEndOfSlowCalls(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		var running, ended atomic.Int32
		slow := w.method("slow", false, func(ctx context.Context, _ *addrspace.Call) error {
			running.Add(1)
			<-ctx.Done()
			ended.Add(1)
			return ctx.Err()
		})
		release := make(chan struct{})
		deaf := w.method("deaf", false, func(context.Context, *addrspace.Call) error {
			<-release
			return nil
		})
		check := func(what string, n int32) {
			t.Helper()
			synctest.Wait()
			if r, e := running.Load(), ended.Load(); r != n || e != n {
				t.Errorf("%s: %d calls began, %d ended", what, r, e)
			}
		}
		s := w.session()

		start := time.Now()
		hinted := callOf(objects, slow)
		hinted.RequestHeader.TimeoutHint = 2000
		if code := statusOfCall(t, s.Do(hinted)); code != ua.BadTimeout {
			t.Errorf("TimeoutHint: %v", code)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("TimeoutHint: %v", took)
		}
		check("TimeoutHint", 1)

		start = time.Now()
		if code := statusOfCall(t, s.Do(callOf(objects, slow))); code != ua.BadTimeout {
			t.Errorf("the server's limit: %v", code)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the server's limit: %v", took)
		}
		check("the server's limit", 2)

		req := callOf(objects, slow)
		req.RequestHeader.RequestHandle = 12345
		waiting := s.Start(req)
		synctest.Wait()
		expect(t, "Cancel of another session", cancelOf(t, w.session(), 12345, 0), ua.Good)
		expect(t, "Cancel", cancelOf(t, s, 12345, 1), ua.Good)
		expect(t, "the cancelled call", s.ResultOf(waiting), ua.BadRequestCancelledByClient)
		expect(t, "Cancel of nothing", cancelOf(t, s, 12345, 0), ua.Good)
		check("Cancel", 3)
		s.Quiet(time.Second) // no second answer

		// What is outstanding is answered before CloseSession is (Part 4, 5.7.4.1).
		outstanding := []uint32{s.Start(callOf(objects, slow)), s.Start(callOf(objects, deaf))}
		synctest.Wait()
		closing := s.Start(&ua.CloseSessionRequest{})
		for _, id := range append(outstanding, closing) {
			n, answer, err := s.Next(time.Second)
			want := ua.BadSessionClosed
			if n == closing {
				want = ua.Good
			}
			if err != nil || n != id && !slices.Contains(outstanding, n) || answer.(ua.Response).Header().ServiceResult != want {
				t.Errorf("request %d is answered with %+v, %v", n, answer, err)
			}
		}
		close(release)
		s.Quiet(time.Second)
		check("CloseSession", 4)

		lost := w.session()
		lost.Start(callOf(objects, slow))
		synctest.Wait()
		lost.Conn.Close()
		check("the channel's end", 5)
	})
}

func cancelOf(t *testing.T, s *rawpeer.Session, handle, count uint32) ua.StatusCode {
	t.Helper()
	resp := rawpeer.Do[*ua.CancelResponse](s, &ua.CancelRequest{RequestHandle: handle})
	if resp.CancelCount != count {
		t.Errorf("Cancel counted %d, want %d", resp.CancelCount, count)
	}
	return resp.ResponseHeader.ServiceResult
}

// statusOfCall returns how a call ended, as a whole or on its own.
func statusOfCall(t *testing.T, answer ua.Structure) ua.StatusCode {
	t.Helper()
	if resp, ok := answer.(*ua.CallResponse); ok {
		return resp.Results[0].StatusCode
	}
	return faultOf(t, answer)
}

// Slow calls of one session hold up neither its own Reads nor anything of
// others, however many there are.
func TestSlowCallsHoldUpNobody(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		release := make(chan struct{})
		slow := w.method("slow", false, func(ctx context.Context, _ *addrspace.Call) error {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return ctx.Err()
		})
		fast := w.method("fast", false, func(context.Context, *addrspace.Call) error { return nil })
		s, other := w.session(), w.session()
		var waiting []uint32
		for range 100 {
			waiting = append(waiting, s.Start(callOf(objects, slow)))
		}
		readValue(s, ua.NumericID(0, id.Server_ServerStatus_State))
		if code := statusOfCall(t, other.Do(callOf(objects, fast))); code != ua.Good {
			t.Errorf("another session's call: %v", code)
		}
		close(release)
		for _, id := range waiting {
			if code := statusOfCall(t, s.Wait(id)); code != ua.Good {
				t.Errorf("a slow call: %v", code)
			}
		}
	})
}
