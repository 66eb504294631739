package channelactor

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// A client that has requests under way when its channel ends is told why and may still send: nothing that
// it does resets the connection, which would take the reason from it. Its own end is the end.
func TestPeerThatStillSendsIsToldWhy(t *testing.T) {
	w := newWorld(t, Limits{})
	p := w.peer(dial(t, w.listen()), uasc.PolicyNone, uasc.ModeNone).connect()
	p.write(p.seal(1, []byte("one")))
	p.answer()
	w.Close(ua.BadShutdown)
	if code := p.refusal(); code != ua.BadShutdown {
		t.Fatalf("the channel ends with %v", code)
	}
	for i := range uint32(10) { // the first one would cause a reset, and the next one find it
		if _, err := p.conn.Write(p.seal(2+i, make([]byte, 1000))); err != nil {
			t.Fatalf("a request after the end: %v", err)
		}
	}
	p.conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	start := time.Now()
	if err := w.group.Wait(ctx); err != nil || time.Since(start) > drainTime/2 {
		t.Errorf("%v after the client had gone: %v", time.Since(start), err)
	}
}

// A peer that does not go, or that sends on and on, is not waited for: its connection is closed after a
// moment.
func TestPeerThatDoesNotGoIsNotWaitedFor(t *testing.T) {
	for name, stay := range map[string]func(conn net.Conn) error{
		"silent": func(net.Conn) error { return nil },
		"floods": func(conn net.Conn) error {
			for b := make([]byte, 64<<10); ; {
				if _, err := conn.Write(b); err != nil {
					return err
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, Limits{})
			p := w.peer(dial(t, w.listen()), uasc.PolicyNone, uasc.ModeNone).connect()
			w.Close(ua.BadShutdown)
			start := time.Now()
			p.conn.SetWriteDeadline(start.Add(10 * time.Second))
			var timeout net.Error
			if err := stay(p.conn); errors.As(err, &timeout) && timeout.Timeout() {
				t.Error("a peer that floods is read on and on")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := w.group.Wait(ctx); err != nil {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			if took := time.Since(start); name == "silent" && took < drainTime {
				t.Errorf("a peer that had not gone was waited for %v", took)
			}
			p.conn.Close()
		})
	}
}
