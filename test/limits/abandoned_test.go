package limits

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

var anonymous = &ua.AnonymousIdentityToken{PolicyID: "anonymous"}

// A client that gives up while its session is activated, and makes another one on
// a new connection, does not have two: the first, which was never used and has lost
// its channel, makes room before anybody is refused. One that was used stays.
func TestAbandonedSessionsMakeRoom(t *testing.T) {
	var limits uahive.Limits
	limits.Sessions = 2
	inTime(t, limits, func(k *kit) {
		used, abandoned := k.session(), k.session()
		time.Sleep(time.Millisecond) // time stands still otherwise, and use is told by it
		good(k, used.Result(readOf(k.variable, 1)))
		k.gone(used)
		k.gone(abandoned)
		next := k.session()
		good(k, next.Result(readOf(k.variable, 1)))
		p := k.dial()
		if code := (&rawpeer.Session{Peer: p}).Result(p.CreateRequest()); code != ua.BadTooManySessions {
			t.Errorf("a session for which there is no room: %v", code)
		}
		if code := abandoned.On(p).Activate(anonymous); code != ua.BadSessionIDInvalid {
			t.Errorf("the one that made room: %v", code)
		}
		if code := used.On(p).Activate(anonymous); code != ua.Good {
			t.Errorf("the one that was used: %v", code)
		}
	})
}

// Without a limit such a session ends after half a minute, whatever time-out it
// was given, unless its client comes back before.
func TestAbandonedSessionsEnd(t *testing.T) {
	inTime(t, uahive.Limits{}, func(k *kit) {
		used, abandoned, back := k.session(), k.session(), k.session()
		time.Sleep(time.Millisecond) // time stands still otherwise, and use is told by it
		good(k, used.Result(readOf(k.variable, 1)))
		for _, s := range []*rawpeer.Session{used, abandoned, back} {
			k.gone(s)
		}
		time.Sleep(10 * time.Second)
		if code := back.On(k.dial()).Activate(anonymous); code != ua.Good {
			t.Errorf("a client that comes back: %v", code)
		}
		time.Sleep(21 * time.Second)
		synctest.Wait()
		if n := k.Stats().Sessions; n.Sessions != 2 || n.TimedOut != 1 {
			t.Errorf("%+v", n)
		}
	})
}
