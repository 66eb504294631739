//go:build storm

package storm

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/loadproc"
)

// keepAliveEach is how often the idler is to get a keep-alive.
const keepAliveEach = 500 * time.Millisecond

// idler is a session that has nothing to tell: it must get its keep-alives while
// others come, and it reads the ServiceLevel as clients do that look for another
// server.
type idler struct {
	client *client.Client
	stop   context.CancelFunc
	ended  sync.WaitGroup

	// Of the watching goroutine until it has ended.
	count   uint64        // keep-alives
	silence time.Duration // the longest time without
	slowest time.Duration // Read of the ServiceLevel
	levels  map[uint8]int
	err     error
}

func newIdler(t *testing.T, endpoint string) *idler {
	t.Helper()
	config, err := loadproc.ClientConfig("idler")
	if err != nil {
		t.Fatal(err)
	}
	config.Reconnect.Disabled = true
	i := &idler{levels: make(map[uint8]int)}
	if i.client, err = client.Connect(t.Context(), endpoint, config); err != nil {
		t.Fatal(err)
	}
	if _, err := i.client.Subscribe(t.Context(), client.SubscriptionConfig{Interval: keepAliveEach, KeepAliveCount: 1}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	i.stop = cancel
	i.ended.Go(func() { i.watch(ctx) })
	t.Cleanup(func() { i.stop(); i.ended.Wait() })
	return i
}

func (i *idler) watch(ctx context.Context) {
	last := time.Now()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		began := time.Now()
		dv, err := i.client.ReadValue(context.Background(), ua.NumericID(0, id.Server_ServiceLevel))
		level, ok := ua.As[uint8](dv.Value)
		if err != nil || !ok {
			i.err = err
			return
		}
		i.levels[level]++
		now := time.Now()
		i.slowest = max(i.slowest, now.Sub(began))
		if n := i.client.Stats().KeepAlives; n != i.count {
			i.count, last = n, now
		}
		i.silence = max(i.silence, now.Sub(last))
	}
}

// end ends the session and judges what it saw. Whether somebody was refused
// meanwhile, the ServiceLevel must have told (Part 4, 6.6.2.4.2).
func (i *idler) end(t *testing.T, refused int) {
	t.Helper()
	i.stop()
	i.ended.Wait()
	if err := i.client.Close(context.Background()); err != nil && i.err == nil {
		i.err = err
	}
	least, most := uint8(255), uint8(0)
	for level := range i.levels {
		least, most = min(least, level), max(most, level)
	}
	t.Logf("idler: %d keep-alives, at most %v without one; a Read took at most %v; ServiceLevel from %d down to %d", i.count,
		i.silence.Round(time.Millisecond), i.slowest.Round(time.Millisecond), most, least)
	if i.err != nil {
		t.Errorf("the session without changes: %v", i.err)
	}
	if i.count == 0 || i.silence > keepAliveEach+time.Second {
		t.Errorf("%d keep-alives each %v, and none for %v", i.count, keepAliveEach, i.silence)
	}
	const degraded = 200 // below it
	if refused > 0 && least >= degraded {
		t.Errorf("%d were refused, and the ServiceLevel was %d and more", refused, least)
	}
}
