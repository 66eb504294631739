package channelactor

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
)

const (
	// peerLogPeers is how many peers have a share of the log of their own in one
	// period. Those that come after them share one.
	peerLogPeers = 256
	// peerLogSummaries is how many peers are named when a period ends in which
	// lines were left out.
	peerLogSummaries = 16
)

// PeerLog writes what peers can cause as often as they like: refusals, and life
// cycles of what they open and close. In each period a peer has a number of lines;
// what is above it is left out, and a summary at the end of the period says how
// much that was. So one noisy peer does not silence the log about others, and no
// number of peers fills a disk. A peer is a host, whatever its ports. All methods
// may be called from any goroutine.
type PeerLog struct {
	// Immutable.
	log    zerolog.Logger
	level  zerolog.Level
	burst  int
	period time.Duration

	mu sync.Mutex
	// Guarded by mu.
	peers  map[uint64]peerLines // of this period, by the hash of the host
	others peerLines            // that found no place among peers
	timer  *time.Timer          // ends the period; nil until the first one
	armed  bool
	closed bool
}

// peerLines is what one peer did in a period.
type peerLines struct {
	host          string
	written, left int
}

// NewPeerLog returns a log that writes up to burst lines of a level about each peer
// in every period. Close ends it.
func NewPeerLog(log zerolog.Logger, level zerolog.Level, burst int, period time.Duration) *PeerLog {
	return &PeerLog{log: log, level: level, burst: burst, period: period, peers: make(map[uint64]peerLines)}
}

// Line begins a line about a peer. When it is one too many the result is nil, to
// which the methods of an event do nothing.
func (p *PeerLog) Line(host string) *zerolog.Event {
	if p.log.GetLevel() > p.level || !p.admit(host) {
		return nil
	}
	return p.log.WithLevel(p.level)
}

// admit counts a line and reports whether it is to be written.
func (p *PeerLog) admit(host string) bool {
	key := actors.HashString(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arm()
	lines, known := p.peers[key]
	if !known && len(p.peers) >= peerLogPeers {
		return p.others.take(p.burst)
	}
	if !known {
		lines.host = host
	}
	admitted := lines.take(p.burst)
	p.peers[key] = lines
	return admitted
}

func (l *peerLines) take(burst int) bool {
	if l.written >= burst {
		l.left++
		return false
	}
	l.written++
	return true
}

// arm sees that the period ends. mu is held.
func (p *PeerLog) arm() {
	switch {
	case p.armed || p.closed:
	case p.timer == nil:
		p.armed, p.timer = true, time.AfterFunc(p.period, p.end)
	default:
		p.armed = true
		p.timer.Reset(p.period)
	}
}

// end ends a period: it says what was left out, and everybody has a full share
// again.
func (p *PeerLog) end() {
	var noisy []peerLines
	p.mu.Lock()
	for _, lines := range p.peers {
		if lines.left > 0 {
			noisy = append(noisy, lines)
		}
	}
	others := p.others.left
	clear(p.peers)
	p.others, p.armed = peerLines{}, false
	p.mu.Unlock()
	slices.SortFunc(noisy, func(a, b peerLines) int {
		return cmp.Or(cmp.Compare(b.left, a.left), cmp.Compare(a.host, b.host))
	})
	for i, lines := range noisy {
		if i < peerLogSummaries {
			p.log.WithLevel(p.level).Str("peer", lines.host).Int("left_out", lines.left).Msg("more about this peer was left out of the log")
		} else {
			others += lines.left
		}
	}
	if others > 0 {
		p.log.WithLevel(p.level).Int("left_out", others).Msg("more about other peers was left out of the log")
	}
}

// Close ends the period that is under way, with its summary. What comes afterwards
// has one share for each peer and no summary any more.
func (p *PeerLog) Close() {
	p.mu.Lock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.end()
}
