package conformance

import (
	"context"
	"testing"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// A client may send many requests before it reads an answer. Those that wait for
// the program's code wait for their turn; none is refused for being quick.
func TestManyRequestsForUserCodeAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		w.add("slow", addrspace.NodeSpec{
			Class: ua.NodeClassVariable, Value: ua.VariantOf(int32(0)),
			Source: &addrspace.Source{Read: func(context.Context) (ua.DataValue, error) {
				time.Sleep(time.Millisecond)
				return ua.DataValue{Value: ua.VariantOf(int32(1))}, nil
			}},
		})
		s := w.session()
		var all []byte
		var ids []uint32
		for range 3000 {
			ids = append(ids, s.NextID())
			all = append(all, s.Seal(uasc.TypeMessage, ids[len(ids)-1],
				s.Prepare(s.Token, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node("slow"))}}))...)
		}
		go s.Write(all)
		refused := 0
		for _, id := range ids {
			switch answer := s.Wait(id).(type) {
			case *ua.ReadResponse:
				expect(t, "read", answer.Results[0].Status, ua.Good)
			default:
				refused++
				expect(t, "refused", faultOf(t, answer), ua.BadServerTooBusy)
			}
		}
		if refused > 0 {
			t.Errorf("%d of %d were refused", refused, len(ids))
		}
	})
}
