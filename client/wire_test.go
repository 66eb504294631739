package client

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// overTCP has the peer serve real sockets.
func (p *peer) overTCP(cfg Config) Config {
	cfg.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		near, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		if err != nil {
			return nil, err
		}
		far, err := l.Accept()
		if err != nil {
			return nil, err
		}
		_ = near.(*net.TCPConn).SetWriteBuffer(64 << 10) // so that writes do not end at once
		p.serveConn(far)
		return near, nil
	}
	return cfg
}

// The socket path: waiting without a buffer, frames in pieces, writes that the
// kernel takes in part, in both directions at once.
func TestRealSocketsCarryLargeMessagesBothWays(t *testing.T) {
	p := newPeer(t)
	p.handle("Write", func(r *peerRequest) ua.Structure {
		return &ua.WriteResponse{Results: make([]ua.StatusCode, len(r.body.(*ua.WriteRequest).NodesToWrite))}
	})
	p.handle("Read", func(*peerRequest) ua.Structure {
		return &ua.ReadResponse{Results: []ua.DataValue{{Value: ua.VariantOf(make([]byte, 200_000))}}}
	})
	c := p.mustConnect(p.overTCP(p.secureConfig()))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 10 {
				if err := c.WriteValue(t.Context(), ua.NumericID(1, 1), make([]byte, 150_000)); err != nil {
					t.Error(err)
				}
				dv, err := c.ReadValue(t.Context(), ua.NumericID(1, 1))
				if b, _ := ua.As[[]byte](dv.Value); err != nil || len(b) != 200_000 {
					t.Error(len(b), err)
				}
			}
		})
	}
	wg.Wait()
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A handler that sends large requests, on the reader's goroutine, while the
// peer is blocked writing: neither end may wait for the other for ever.
func TestReaderDoesNotBlockInItsWrites(t *testing.T) {
	p := newPeer(t)
	p.handle("Write", func(*peerRequest) ua.Structure {
		return &ua.WriteResponse{Results: []ua.StatusCode{ua.Good}, DiagnosticInfos: make([]ua.DiagnosticInfo, 50_000)}
	})
	c := p.mustConnect(p.overTCP(p.config()))
	write, err := Prepare(&ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
		NodeID: ua.NumericID(1, 1), AttributeID: ua.AttributeIDValue,
		Value: ua.DataValue{Value: ua.VariantOf(make([]byte, 300_000))},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	h := &volley{t: t, c: c, p: write, done: make(chan struct{})}
	h.left.Store(100)
	for range 8 {
		if err := c.Send(write, h); err != nil {
			t.Fatal(err)
		}
	}
	<-h.done
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// volley sends the next request from the answer to each.
type volley struct {
	t    *testing.T
	c    *Client
	p    *Prepared
	left atomic.Int64
	done chan struct{}
}

func (v *volley) HandleResponse(_ uint32, _ []byte, err error) {
	switch left := v.left.Add(-1); {
	case err != nil:
		v.t.Error(err)
		close(v.done)
	case left == 0:
		close(v.done)
	case left >= 8:
		if err := v.c.Send(v.p, v); err != nil {
			v.t.Error(err)
			close(v.done)
		}
	}
}
