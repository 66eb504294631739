package client

import (
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// ordering brings the messages of a subscription into their order, each of
// them once. It decides what to acknowledge and what to ask for with Republish
// (Part 4, 5.14.1.3), and does nothing else: it is plain state, so that every
// case can be tested without a connection.
type ordering struct {
	last uint32 // the number of the last message taken; 0 before the first
	end  uint32 // one more than the highest number known to exist
	held map[uint32]ua.NotificationMessage
	// known is what the server said it still has, while something is missing;
	// nothing is known of that after a reconnect, until the next response.
	known    []uint32
	informed bool
	// asking is the number that Republish was sent for; 0: none.
	asking uint32
	// probing asks for the message behind the last one though nothing says that
	// it exists: after a reconnect, and after too long a silence.
	probing bool
	// reack acknowledges again what the server still has, because it may not
	// have got the acknowledgements before.
	reack bool
	// era counts the lives of the subscription, so that answers to an earlier
	// one are not taken for those of this one.
	era uint32

	ready    []ua.NotificationMessage // to be delivered
	acks     []uint32                 // to be sent with the next Publish
	draining bool                     // a goroutine is delivering ready
	heard    time.Time                // of anything from the subscription

	duplicates, missed int // since they were last collected
}

// reset begins the life of a new subscription.
func (o *ordering) reset() {
	*o = ordering{era: o.era + 1, end: 1, ready: o.ready, draining: o.draining, heard: o.heard}
}

// following is the number behind n: 0 is never used (Part 4, 7.25.1).
func following(n uint32) uint32 {
	if n++; n == 0 {
		return 1
	}
	return n
}

// before compares numbers of a sequence that wraps.
func before(a, b uint32) bool { return int32(a-b) < 0 }

// arrive takes the message of a Publish response.
func (o *ordering) arrive(m ua.NotificationMessage, available []uint32) {
	if o.reack {
		o.reack = false
		for _, n := range available {
			if !before(o.last, n) && o.last != 0 {
				o.acks = append(o.acks, n)
			}
		}
	}
	if len(m.NotificationData) == 0 {
		// A keep-alive has the number of the message that comes next (Part 4,
		// 5.14.1.1).
		if before(o.end, m.SequenceNumber) {
			o.end = m.SequenceNumber
		}
	} else {
		o.take(m)
	}
	o.inform(available)
	o.advance()
}

// inform takes note of what the server has, where that matters.
func (o *ordering) inform(available []uint32) {
	if o.informed = o.end != following(o.last); o.informed {
		o.known = append(o.known[:0], available...)
	}
}

// take stores a message until all before it are there.
func (o *ordering) take(m ua.NotificationMessage) {
	n := m.SequenceNumber
	if before(n, following(o.last)) && o.last != 0 || n == 0 {
		o.duplicates++
		o.acks = append(o.acks, n)
		return
	}
	if _, ok := o.held[n]; ok {
		o.duplicates++
		return
	}
	if n == following(o.last) && len(o.held) == 0 {
		o.accept(m)
		return
	}
	if o.held == nil {
		o.held = make(map[uint32]ua.NotificationMessage)
	}
	o.held[n] = m
	if before(o.end, following(n)) {
		o.end = following(n)
	}
}

// accept appends the message that is due to what is delivered.
func (o *ordering) accept(m ua.NotificationMessage) {
	o.last = m.SequenceNumber
	o.ready = append(o.ready, m)
	o.acks = append(o.acks, o.last)
	if before(o.end, following(o.last)) {
		o.end = following(o.last)
	}
}

// advance takes what is in order by now. What is missing and cannot be had is
// passed over.
func (o *ordering) advance() {
	for {
		due := following(o.last)
		if m, ok := o.held[due]; ok {
			delete(o.held, due)
			o.accept(m)
			continue
		}
		if due == o.end || o.asking != 0 && len(o.held) <= heldMost {
			break
		}
		if len(o.held) <= heldMost && (!o.informed || slices.Contains(o.known, due)) {
			break
		}
		o.pass(due)
	}
	if following(o.last) == o.end {
		o.known, o.held, o.informed = nil, nil, false
	}
}

// pass gives up messages that cannot be had, up to the next one that can. The
// numbers are the peer's, and a gap may be as wide as half of them: no step
// may be taken for each.
func (o *ordering) pass(due uint32) {
	next := o.end
	for n := range o.held {
		if before(n, next) && !before(n, due) {
			next = n
		}
	}
	for _, n := range o.known {
		if o.informed && before(n, next) && before(due, n) {
			next = n
		}
	}
	o.missed += int(next - due)
	o.last = next - 1
	if o.last == 0 {
		o.last = 1<<32 - 1 // the number before 1, unless nothing was taken yet
	}
}

// ask returns the number to send Republish for; 0 when there is none.
func (o *ordering) ask() uint32 {
	due := following(o.last)
	if o.asking != 0 || due == o.end && !o.probing {
		return 0
	}
	o.asking = due
	return due
}

// answered takes the answer to Republish: a message, or nil when the server
// does not have it.
func (o *ordering) answered(n uint32, m *ua.NotificationMessage) {
	if n != o.asking {
		return
	}
	o.asking = 0
	due := following(o.last)
	switch {
	case m != nil && m.SequenceNumber == n:
		o.take(*m)
	case n == due && due == o.end:
		o.probing = false // it does not exist yet, so nothing is missing
	case n == due:
		o.missed++
		o.last = due
	default:
		o.probing = o.probing && n != due
	}
	o.advance()
}

// unanswered says that Republish failed without telling anything of the message.
func (o *ordering) unanswered(n uint32) {
	if n == o.asking {
		o.asking = 0
	}
}

// resume prepares for a new channel: nothing that was asked for on the old one
// will be answered. available is what the server says it has, if it said so.
func (o *ordering) resume(available []uint32) {
	o.asking, o.probing, o.reack = 0, true, true
	for _, n := range available {
		if before(o.end, following(n)) {
			o.end = following(n)
		}
	}
	o.informed = false
	if len(available) > 0 {
		o.inform(available)
	}
	o.advance()
}
