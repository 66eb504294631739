package channelactor

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive/codec/uasc"
)

// The clock is read once for a few small requests, and again after anything
// that may have taken long: tokens must not live on because it stands still.
func TestClockIsReadAgain(t *testing.T) {
	for name, test := range map[string]struct {
		pass func(k *clock)
		read bool
	}{
		"small requests":  {func(k *clock) { k.pass(128, 82); k.pass(128, 82) }, false},
		"a large request": {func(k *clock) { k.pass(clockBytes, 82) }, true},
		"a large answer":  {func(k *clock) { k.pass(128, clockBytes) }, true},
		"many small requests": {func(k *clock) {
			for range clockBytes / 200 {
				k.pass(128, 82)
			}
		}, true},
		"a batch that was sent": {func(k *clock) { k.pass(128, -500) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := clock{stale: true}
				k.look()
				first := k.now
				test.pass(&k)
				time.Sleep(time.Second)
				if k.look(); k.now.Equal(first) == test.read {
					t.Errorf("read again: %v", !test.read)
				}
			})
		})
	}
}

// What one read brought in shares the time; the next read has its own.
func TestRequestsThatComeTogetherShareTheTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Limits{})
		var times []time.Time
		w.echo.observe = func(b *Batch) { times = append(times, b.Now()) }
		p := w.peer(w.pipe(), uasc.PolicyNone, uasc.ModeNone).connect()
		for range 2 {
			time.Sleep(time.Second)
			both := append(p.seal(1, []byte("a")), p.seal(2, []byte("b"))...)
			p.write(both)
			p.answer()
			p.answer()
		}
		p.conn.Close()
		synctest.Wait()
		if len(times) != 4 || times[1] != times[0] || times[3] != times[2] || times[2].Sub(times[0]) != time.Second {
			t.Errorf("requests at %v", times)
		}
	})
}
