package channelactor

import (
	"container/list"
	"net"
	"sync"
)

// admission counts connections and decides who may come in. Part 2, 5.1.2.3
// asks a server at its limit to recycle channels that were never completed
// before it refuses anybody, and never to give up one that is in use.
type admission struct {
	limits *Limits

	mu      sync.Mutex
	all     map[*Channel]struct{}
	unused  list.List // *Channel without an activated session, oldest first
	perPeer map[string]int
}

// place is where a channel stands in the admission list.
type place struct {
	unused *list.Element
	peer   string // its host; immutable once admitted
}

func newAdmission(limits *Limits) *admission {
	return &admission{limits: limits, all: make(map[*Channel]struct{}), perPeer: make(map[string]int)}
}

// enter admits a new connection. The channel that has to make room for it, if
// one has to, is returned; refused says why the connection may not come in.
func (a *admission) enter(c *Channel) (evicted *Channel, refused reasonCode) {
	peer := peerHost(c.sock.conn.RemoteAddr())
	a.mu.Lock()
	defer a.mu.Unlock()
	c.place.peer = peer
	if a.limits.ChannelsPerPeer > 0 && a.perPeer[peer] >= a.limits.ChannelsPerPeer {
		return nil, reasonPeerLimit
	}
	if len(a.all) >= a.limits.Channels {
		if evicted = a.oldestUnused(); evicted == nil {
			return nil, reasonLimit
		}
		a.leaveLocked(evicted)
	}
	c.place = place{unused: a.unused.PushBack(c), peer: peer}
	a.all[c] = struct{}{}
	a.perPeer[peer]++
	return evicted, ""
}

// oldestUnused returns the channel that may be given up first. One whose session
// was activated a moment ago can still be in the list; it is passed over.
func (a *admission) oldestUnused() *Channel {
	for e := a.unused.Front(); e != nil; e = e.Next() {
		if c := e.Value.(*Channel); c.sessions.Load() == 0 {
			return c
		}
	}
	return nil
}

func (a *admission) leave(c *Channel) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leaveLocked(c)
}

func (a *admission) leaveLocked(c *Channel) {
	if _, ok := a.all[c]; !ok {
		return
	}
	delete(a.all, c)
	if c.place.unused != nil {
		a.unused.Remove(c.place.unused)
		c.place.unused = nil
	}
	if a.perPeer[c.place.peer]--; a.perPeer[c.place.peer] == 0 {
		delete(a.perPeer, c.place.peer)
	}
}

// busy takes a channel out of the list of those that may be evicted.
func (a *admission) busy(c *Channel) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.place.unused != nil {
		a.unused.Remove(c.place.unused)
		c.place.unused = nil
	}
}

// idle puts a channel that lost its last session at the end of that list.
func (a *admission) idle(c *Channel) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.all[c]; ok && c.place.unused == nil && c.sessions.Load() == 0 {
		c.place.unused = a.unused.PushBack(c)
	}
}

func (a *admission) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all)
}

// channels returns the channels of this moment.
func (a *admission) channels() []*Channel {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]*Channel, 0, len(a.all))
	for c := range a.all {
		list = append(list, c)
	}
	return list
}

func peerHost(addr net.Addr) string {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	if addr == nil {
		return ""
	}
	return addr.String()
}
