package hotpath

import (
	"context"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// What the server keeps for one idle client: connection, secure channel, session,
// subscription, item, parked Publish requests, and the stacks of two goroutines.
// Resident memory is more, since the heap grows before it is collected: with the
// default GOGC, live heap counts about twice and stacks once. The goal is 24 KiB
// of that; these bounds hold what it was made of, and some reserve.
//
// A session whose goroutine has a stack of 4 KiB, or a channel whose actor stays, is
// beyond the bounds.
const (
	idleHeap       = 5700
	idleSecureHeap = 1100 // in addition: the keys of both directions
	idleStacks     = 7680 // one of 4 KiB, one of 2 KiB; they are allocated 32 KiB at a time
	crew           = 100  // clients whose memory is counted
	before         = 60   // clients that come first, so that what all share is there
)

func TestIdleSessionIsSmall(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has frames and objects of other sizes")
	}
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:hotpath:client", AcceptAll: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, security := range []string{"None", "Basic256Sha256/SignAndEncrypt"} {
		t.Run(security, func(t *testing.T) {
			endpoint, ask := startAnswering(t)
			most := idleHeap
			if security != "None" {
				most += idleSecureHeap
			}
			connectIdle(t, before, endpoint, security, store)
			heapBefore, stacksBefore := least(ask)
			connectIdle(t, crew, endpoint, security, store)
			heapAfter, stacksAfter := least(ask)
			heap := (int(heapAfter) - int(heapBefore)) / crew
			stacks := (int(stacksAfter) - int(stacksBefore)) / crew
			t.Logf("%d bytes of heap and %d of stacks for an idle session", heap, stacks)
			if heap > most {
				t.Errorf("%d bytes of heap for an idle session, more than %d", heap, most)
			}
			if stacks > idleStacks {
				t.Errorf("%d bytes of stacks for an idle session, more than %d", stacks, idleStacks)
			}
		})
	}
}

// least asks several times, since a buffer that is in use for a moment, or a
// connection that is being opened, is no memory of an idle session.
func least(ask func(string) (heap, stacks uint64)) (heap, stacks uint64) {
	heap, stacks = ask("held")
	for range 9 {
		h, s := ask("held")
		heap, stacks = min(heap, h), min(stacks, s)
	}
	return heap, stacks
}

// connectIdle connects clients of which each has got the first value of its only
// item.
func connectIdle(t *testing.T, n int, endpoint, security string, store *pki.Store) {
	t.Helper()
	chosen, err := client.ParseSecurity(security)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := make(chan struct{}, n)
	for range n {
		c, err := client.Connect(ctx, endpoint, client.Config{
			Security: chosen, PKI: store, TrustAll: true, IgnoreHostname: true, KeepAlive: -1,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.Background()) })
		sub, err := c.Subscribe(ctx, client.SubscriptionConfig{Interval: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		_, err = sub.Monitor(ctx, func(client.Change) { got <- struct{}{} }, client.Value(ua.NumericID(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		select {
		case <-got:
		case <-ctx.Done():
			t.Fatal("not all values came")
		}
	}
}
