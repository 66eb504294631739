//go:build storm

package storm

import (
	"context"
	"net"
	"sync"
	"time"
)

// attempt is a client's try to connect. Real clients have a processor each; here
// thousands share one, and each of their requests to open a channel takes it for
// two milliseconds. If all prepared theirs together, all would have given up
// before any was sent. So only a few do at once, and a client's patience begins
// when it dials: clients come as fast as their processor can make requests, which
// is several times as fast as the server can serve them.
type attempt struct {
	context.Context
	cancel context.CancelFunc
	gate   chan struct{}
	began  time.Time
	timer  *time.Timer
	passed sync.Once
}

// attemptOf is the key under which a context finds its attempt.
type attemptOf struct{}

// Value implements [context.Context].
func (a *attempt) Value(key any) any {
	if key == (attemptOf{}) {
		return a
	}
	return a.Context.Value(key)
}

// dial is the Dial of all clients.
func (w *crowd) dial(ctx context.Context, network, address string) (net.Conn, error) {
	a := ctx.Value(attemptOf{}).(*attempt)
	select {
	case a.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	a.began = time.Now()
	a.timer = time.AfterFunc(w.Patience, a.cancel)
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		a.pass()
		return nil, err
	}
	return &firstWrites{Conn: conn, sent: a.pass}, nil
}

// pass lets the next client prepare its request.
func (a *attempt) pass() { a.passed.Do(func() { <-a.gate }) }

// end is called once, when the attempt is over.
func (a *attempt) end() {
	if a.timer != nil {
		a.timer.Stop()
		a.pass()
	}
	a.cancel()
}

// firstWrites is a connection that tells when the request to open a channel has
// left, which is the second message.
type firstWrites struct {
	net.Conn
	n    int
	sent func()
}

func (c *firstWrites) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.n < 2 {
		if c.n++; c.n == 2 {
			c.sent()
		}
	}
	return n, err
}
