package sessionactor

import (
	"container/list"
	"fmt"
	"sync"
	"time"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
)

const (
	// loginClients is how many clients with refused logins each table remembers. It stops whoever has many of them from filling
	// the memory; the one that has been quiet for the longest is forgotten.
	loginClients = 4096
	// forgiveEvery is how long it takes until one refused login is forgotten. Good
	// logins forgive nothing: whoever knows one password must not try others in
	// between.
	forgiveEvery = 10 * time.Second
	// longestLockout is the most that a client has to wait after a refused login.
	longestLockout = time.Minute
	// hostShare is how many times as many logins all clients with certificates of one
	// host may get wrong as one of them, since many may come from one address. It
	// stops whoever can make certificates, as where a server trusts all of them.
	hostShare = 10
)

// logins counts refused logins and locks out who has too many (Part 4, 5.7.3.1,
// threat U6). It counts clients, by certificate where they have one and by host
// where not, and never users: nobody can lock out a user whom others try to be.
// What comes from a host without a certificate does not count against those of the
// same host that have one.
type logins struct {
	byCertificate, byHost, byHostOfMany refusedLogins
}

func newLogins(limit int) *logins {
	l := new(logins)
	l.byCertificate.limit, l.byHost.limit, l.byHostOfMany.limit = float64(limit), float64(limit), float64(limit)*hostShare
	return l
}

// wait returns how long a client has to wait until it may log in again.
func (l *logins) wait(c *channelactor.Channel) time.Duration {
	now, peer := time.Now(), c.PeerCertificate()
	if peer == nil {
		return l.byHost.wait(c.PeerHost(), now)
	}
	return max(l.byCertificate.wait(string(peer.Thumbprint[:]), now), l.byHostOfMany.wait(c.PeerHost(), now))
}

// refused counts a refused login.
func (l *logins) refused(c *channelactor.Channel) {
	now, peer := time.Now(), c.PeerCertificate()
	if peer == nil {
		l.byHost.add(c.PeerHost(), now)
		return
	}
	l.byCertificate.add(string(peer.Thumbprint[:]), now)
	l.byHostOfMany.add(c.PeerHost(), now)
}

// lockout is the error of a client that has to wait. Nothing was looked at, so it
// tells nothing of what the client sent.
type lockout struct{ after time.Duration }

func (l *lockout) Error() string {
	return fmt.Sprintf("too many refused logins of this client, which may come back after %v", l.after.Round(time.Millisecond))
}

func (l *lockout) Unwrap() error { return ua.BadServerTooBusy }

// refusedLogins is one table of logins.
type refusedLogins struct {
	limit float64 // negative: none

	mu sync.Mutex
	// Guarded by mu.
	clients map[string]*list.Element
	order   list.List // of *refusedClient; who failed last is at the back
}

// refusedClient is what is remembered of one client.
type refusedClient struct {
	key     string
	count   float64 // at the moment counted
	counted time.Time
	until   time.Time // when it may log in again
}

// countAt is how much of the count is not forgiven yet.
func (c *refusedClient) countAt(now time.Time) float64 {
	return max(0, c.count-float64(now.Sub(c.counted))/float64(forgiveEvery))
}

func (r *refusedLogins) wait(key string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.clients[key]; ok {
		return max(0, e.Value.(*refusedClient).until.Sub(now))
	}
	return 0
}

func (r *refusedLogins) add(key string, now time.Time) {
	if r.limit < 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.clients[key]
	if !ok {
		if r.clients == nil {
			r.clients = make(map[string]*list.Element)
		}
		if len(r.clients) >= loginClients {
			oldest := r.order.Front()
			delete(r.clients, r.order.Remove(oldest).(*refusedClient).key)
		}
		e = r.order.PushBack(&refusedClient{key: key, counted: now})
		r.clients[key] = e
	}
	r.order.MoveToBack(e)
	c := e.Value.(*refusedClient)
	c.count, c.counted = c.countAt(now)+1, now
	if over := c.count - r.limit; over > 0 {
		c.until = now.Add(lockoutAfter(over))
	}
}

// lockoutAfter doubles with each refused login above the limit, from one second.
func lockoutAfter(over float64) time.Duration {
	wait := time.Second
	for ; over > 1 && wait < longestLockout; over-- {
		wait *= 2
	}
	return min(wait, longestLockout)
}
