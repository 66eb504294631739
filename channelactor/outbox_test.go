package channelactor

import (
	"testing"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/uasc"
)

// An idle channel has a reader and nothing else: what its answers need leaves
// from where they are made.
func TestIdleChannelHasNoActor(t *testing.T) {
	w := newWorld(t, Limits{})
	address := w.listen()
	for range 3 {
		p := w.peer(dial(t, address), uasc.PolicyNone, uasc.ModeNone).connect()
		p.write(p.seal(1, []byte("x")))
		p.answer()
	}
	if running := w.group.Running(); running["reader"] != 3 || running["channel"] != 0 {
		t.Errorf("goroutines: %v", running)
	}
}

// The actor is there while a peer does not read, once, and is gone when the peer
// has read.
func TestActorLivesWhileThePeerDoesNotRead(t *testing.T) {
	w := newWorld(t, Limits{MaxMessage: 8 << 20})
	sent := make(chan error, 1)
	w.echo.hold = func(c *Channel, req Request) bool {
		for range 4 {
			if err := c.Respond(req.ID, raw(make([]byte, 4<<20))); err != nil {
				sent <- err
				return true
			}
		}
		sent <- nil
		return true
	}
	p := w.peer(dial(t, w.listen()), uasc.PolicyNone, uasc.ModeNone).connect()
	p.write(p.seal(1, []byte("x")))
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if n := w.group.Running()["channel"]; n != 1 {
		t.Errorf("%d actors while the peer does not read", n)
	}
	for range 4 {
		p.answer()
	}
	for end := time.Now().Add(5 * time.Second); w.group.Running()["channel"] != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the actor stays though nothing is left to send")
		}
	}
}

// Whoever puts something into the outbox while the actor looks at it for the last
// time either keeps the actor, or starts another.
func TestOutboxLosesNobody(t *testing.T) {
	var o outbox
	if start, ok := o.put(parcel{frames: codec.GetBuffer(1)}); !start || !ok {
		t.Fatalf("first parcel: start %v, ok %v", start, ok)
	}
	o.begin()
	if n := len(o.take().list); n != 1 || o.take() != nil {
		t.Fatalf("%d parcels", n)
	}
	if o.wake() {
		t.Error("a second actor is asked for")
	}
	if o.rest() {
		t.Error("the actor rests though it was woken during its round")
	}
	o.begin()
	if !o.rest() {
		t.Error("the actor does not rest")
	}
	if !o.wake() {
		t.Error("nobody starts the actor again")
	}
	o.close()
	if start, ok := o.put(parcel{}); start || ok {
		t.Error("a closed outbox takes something")
	}
	if o.wake() {
		t.Error("a closed outbox asks for an actor")
	}
}

// The end can be waited for before and after it has begun.
func TestEndingIsSeenByAll(t *testing.T) {
	var e ending
	before := e.wait()
	select {
	case <-before:
		t.Fatal("over before it began")
	default:
	}
	e.begin()
	<-before
	<-e.wait()
	var unseen ending
	unseen.begin()
	<-unseen.wait()
}
