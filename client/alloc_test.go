package client

import (
	"net"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// discard is a connection that takes everything and says nothing.
type discard struct{ net.Conn }

func (discard) Write(b []byte) (int, error)        { return len(b), nil }
func (discard) SetWriteDeadline(_ time.Time) error { return nil }
func (discard) Close() error                       { return nil }

// deafChannel is a channel in use whose requests go nowhere.
func deafChannel(tb testing.TB, policy *uasc.Policy, mode uasc.Mode) (*Client, *channel) {
	tb.Helper()
	c := &Client{cfg: Config{}.withDefaults(), changed: make(chan struct{})}
	limits, err := uasc.Accept(uasc.Limits{}, uasc.Acknowledge{ReceiveBufferSize: 65535, SendBufferSize: 65535})
	if err != nil {
		tb.Fatal(err)
	}
	token, err := uasc.NewToken(uasc.TokenConfig{
		Policy: policy, Mode: mode, ChannelID: 1, ID: 2, Local: policy.NewShare(), RemoteNonce: policy.Nonce(),
	})
	if err != nil {
		tb.Fatal(err)
	}
	ch := &channel{cfg: &c.cfg, stats: &c.stats, crew: &c.crew, opener: uasc.NewOpener(uasc.OpenerConfig{}), arm: c.house.arm}
	if ch.layout, err = uasc.NewLayout(policy, mode, limits, 1, false); err != nil {
		tb.Fatal(err)
	}
	ch.wire.conn = discard{}
	ch.sealer.Use(token)
	ch.publish = &publishHandler{c: c, ch: ch}
	c.current.Store(ch)
	return c, ch
}

// sink remembers nothing.
type sink struct{ n int }

func (s *sink) HandleResponse(uint32, []byte, error) { s.n++ }

func TestSendingAPreparedRequestAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector changes what is allocated")
	}
	for _, mode := range []uasc.Mode{uasc.ModeNone, uasc.ModeSignAndEncrypt} {
		policy := uasc.PolicyNone
		if mode != uasc.ModeNone {
			policy = uasc.Basic256Sha256
		}
		c, ch := deafChannel(t, policy, mode)
		resp := ua.ReadResponse{Results: []ua.DataValue{{Value: ua.Int32Variant(5)}}}
		body := resp.AppendTo(resp.EncodingID().AppendTo(nil))
		h := new(sink)
		var m uasc.Message
		allocs := testing.AllocsPerRun(1000, func() {
			if err := c.Send(stateRead, h); err != nil {
				t.Fatal(err)
			}
			id := ch.slots.all[0].id
			m = uasc.Message{Type: uasc.TypeMessage, RequestID: id, Body: body, Done: true}
			if err := ch.dispatch(&m); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 || h.n != 1001 {
			t.Errorf("%v: %v allocations, %d answers", mode, allocs, h.n)
		}
	}
}

// A notification costs what it carries, not what brings it.
func TestPublishResponseAllocatesLittle(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector changes what is allocated")
	}
	c, ch := deafChannel(t, uasc.PolicyNone, uasc.ModeNone)
	s := &Subscription{c: c, cfg: SubscriptionConfig{Inline: true}.withDefaults(&c.cfg), items: map[uint32]*Item{}, id: 9}
	s.order.reset()
	n := 0
	s.items[1] = &Item{sub: s, handle: 1, spec: MonitorItem{OnChange: func(Change) { n++ }}}
	c.subs = map[uint32]*Subscription{9: s}
	c.refill(ch)
	seq := uint32(0)
	var body []byte
	allocs := testing.AllocsPerRun(1000, func() {
		seq++
		data := &publishedData
		data.NotificationMessage.SequenceNumber = seq
		body = data.AppendTo(data.EncodingID().AppendTo(body[:0]))
		for i := range ch.slots.all {
			if id := ch.slots.all[i].id; id != 0 {
				if err := ch.dispatch(&uasc.Message{RequestID: id, Body: body, Done: true}); err != nil {
					t.Fatal(err)
				}
				break
			}
		}
	})
	// The notification, its items and the list of data; the queue of messages;
	// what the encoding in this test takes.
	if allocs > 8 || n != 1001 {
		t.Errorf("%v allocations, %d changes", allocs, n)
	}
}

var publishedData = ua.PublishResponse{
	SubscriptionID: 9, AvailableSequenceNumbers: []uint32{1}, NotificationMessage: notificationOf(1, 5),
}

func BenchmarkSend(b *testing.B) {
	c, ch := deafChannel(b, uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	resp := ua.ReadResponse{Results: []ua.DataValue{{Value: ua.Int32Variant(5)}}}
	body := resp.AppendTo(resp.EncodingID().AppendTo(nil))
	h := new(sink)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Send(stateRead, h); err != nil {
			b.Fatal(err)
		}
		_ = ch.dispatch(&uasc.Message{RequestID: ch.slots.all[0].id, Body: body, Done: true})
	}
}
