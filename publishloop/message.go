package publishloop

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// spareSize is the largest memory that a subscription keeps for its next message.
// Larger ones stand in pooled memory until they are acknowledged.
const spareSize = 512

// encode writes the PublishResponse for a ticket, with what the ready items have
// to report or, for a keep-alive, without; and keeps the NotificationMessage for
// Republish. mu is held.
func (s *Subscription) encode(t *ticket, notifications bool) *codec.Buffer {
	m := s.manager
	now := ua.DateTimeOf(time.Now())
	limit := m.limits.MessageBytes
	if peer := t.to.MaxResponse(); peer > 0 {
		// Room for the rest of the response: sequence numbers and results.
		limit = min(limit, max(peer-4*(len(s.kept)+int(t.results.count))-256, 1))
	}
	seq := s.state.SeqNum
	if notifications {
		s.state.TakeSeqNum()
		s.makeRoom()
	}

	buf := codec.GetBuffer(min(192+4*(len(s.kept)+int(t.results.count))+48*s.ready.count, limit))
	dst := appendHeader(buf.B[:0], publishResponseID, now, t.handle, ua.Good)
	dst = codec.AppendUint32(dst, s.id)
	dst = s.appendAvailable(dst, seq, notifications)
	moreAt := len(dst)
	dst = append(dst, 0)
	start := len(dst)
	dst = codec.AppendUint32(dst, seq)
	dst = codec.AppendInt64(dst, int64(now))
	if notifications {
		if s.eventItems == 0 {
			dst = codec.AppendUint32(dst, 1)
			dst = s.appendDataChanges(dst, now, start+limit)
		} else {
			dst = s.appendDataAndEvents(dst, now, start+limit)
		}
	} else {
		dst = codec.AppendUint32(dst, 0)
	}
	end := len(dst)
	dst = t.results.appendTo(dst)
	dst = codec.AppendUint32(dst, noArray) // diagnosticInfos

	if notifications {
		s.state.MoreNotifications = s.ready.count > 0
		if s.state.MoreNotifications {
			dst[moreAt] = 1
		}
		s.keep(seq, dst[start:end])
	}
	buf.B = dst
	return buf
}

// noArray is the length of a null array.
const noArray = 0xffff_ffff

// appendAvailable appends the sequence numbers that Republish can deliver, the
// one of the message that is being made included.
func (s *Subscription) appendAvailable(dst []byte, seq uint32, notifications bool) []byte {
	n := len(s.kept)
	if notifications {
		n++
	}
	dst = codec.AppendUint32(dst, uint32(n))
	for i := range s.kept {
		dst = codec.AppendUint32(dst, s.kept[i].seq)
	}
	if notifications {
		dst = codec.AppendUint32(dst, seq)
	}
	return dst
}

// appendTo appends the results as an array of status codes.
func (r *results) appendTo(dst []byte) []byte {
	if r.count == 0 {
		return codec.AppendUint32(dst, noArray)
	}
	dst = codec.AppendUint32(dst, uint32(r.count))
	at := len(dst)
	size := 4 * int(r.count)
	dst = slices.Grow(dst, size)[:at+size]
	clear(dst[at:])
	if r.bad != nil {
		for _, b := range *r.bad {
			binary.LittleEndian.PutUint32(dst[at+4*int(b.index):], uint32(b.status))
		}
	}
	return dst
}

// maxNotifications is how many notifications one message may hold.
func (s *Subscription) maxNotifications() int {
	most := s.manager.limits.MessageNotifications
	if own := int(s.state.MaxNotificationsPerUpdate); own > 0 {
		most = min(most, own)
	}
	return most
}

// appendDataChanges appends a DataChangeNotification in its ExtensionObject with
// the queues of the ready items, until the client's or the server's limit.
func (s *Subscription) appendDataChanges(dst []byte, now ua.DateTime, end int) []byte {
	most := s.maxNotifications()
	dst = append(dst, 1, 0, dataChangeNotificationID&0xff, dataChangeNotificationID>>8, 1)
	bodyAt := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0) // body length, number of items
	count := 0
	var dv ua.DataValue
	for count < most && s.ready.count > 0 {
		before := len(dst)
		it := s.ready.head()
		handle, ok := s.ready.take(s, &dv, now)
		if !ok {
			continue
		}
		dst = codec.AppendUint32(dst, handle)
		dst = dv.AppendTo(dst)
		count++
		if len(dst) > end {
			if count > 1 {
				s.ready.putBack(it, &dv)
				dst = dst[:before]
				count--
			}
			break
		}
	}
	dst = codec.AppendUint32(dst, noArray) // diagnosticInfos
	binary.LittleEndian.PutUint32(dst[bodyAt:], uint32(len(dst)-bodyAt-4))
	binary.LittleEndian.PutUint32(dst[bodyAt+4:], uint32(count))
	s.counts.notifications += uint32(count)
	s.manager.stats.notifications.Add(uint64(count))
	return dst
}

// keep stores a message for Republish until it is acknowledged.
func (s *Subscription) keep(seq uint32, body []byte) {
	m := message{seq: seq}
	switch {
	case len(body) <= cap(s.spare):
		m.body, s.spare = append(s.spare[:0], body...), nil
	case len(body) <= spareSize:
		// Neighbouring sizes share a capacity, so that one message's memory serves
		// the next though a value is longer.
		m.body = append(make([]byte, 0, (len(body)+127)&^127), body...)
	default:
		m.buf = codec.GetBuffer(len(body))
		m.buf.B = append(m.buf.B[:0], body...)
		m.body = m.buf.B
	}
	s.kept = append(s.kept, m)
	s.keptSize += cap(m.body)
	s.manager.keptBytes.Add(int64(cap(m.body)))
	limits := &s.manager.limits
	for len(s.kept) > 1 && (s.keptSize > limits.RetransmissionBytes ||
		s.manager.keptBytes.Load() > int64(limits.RetransmissionTotal)) {
		s.overrun()
	}
}

// overrun drops the oldest message though it was not acknowledged.
func (s *Subscription) overrun() {
	s.discard(0)
	s.counts.discarded++
	s.manager.stats.discarded.Add(1)
}

// makeRoom drops the oldest message when there are as many as the session may
// have (Part 4, 5.14.1.1: twice the number of its Publish requests).
func (s *Subscription) makeRoom() {
	if len(s.kept) < 2*s.manager.limits.PublishRequests {
		return
	}
	if s.queue != nil && len(s.kept) < 2*s.queue.Limit() {
		return
	}
	s.overrun()
}

// forget drops an acknowledged message.
func (s *Subscription) forget(seq uint32) bool {
	for i := range s.kept {
		if s.kept[i].seq == seq {
			s.discard(i)
			return true
		}
	}
	return false
}

// discard removes a message. Its memory may serve the next one: the bytes that
// are being sent are a copy.
func (s *Subscription) discard(i int) {
	m := s.kept[i]
	body := m.body
	s.kept = slices.Delete(s.kept, i, i+1)
	s.keptSize -= cap(body)
	s.manager.keptBytes.Add(-int64(cap(body)))
	if m.buf == nil && cap(body) > cap(s.spare) {
		s.spare = body
	}
	m.release()
}

// release gives back pooled memory.
func (m *message) release() {
	if m.buf != nil {
		m.buf.Release()
	}
}

// available returns the sequence numbers that Republish can deliver.
func (s *Subscription) available() []uint32 {
	seqs := make([]uint32, len(s.kept))
	for i := range s.kept {
		seqs[i] = s.kept[i].seq
	}
	return seqs
}

// sendStatusChange answers a Publish request with a StatusChangeNotification for
// a subscription that the session does not have any more.
func (m *Manager) sendStatusChange(t *ticket, change statusChange) {
	now := ua.DateTimeOf(time.Now())
	dst := appendHeader(nil, publishResponseID, now, t.handle, ua.Good)
	dst = codec.AppendUint32(dst, change.subscription)
	dst = codec.AppendUint32(dst, 0) // availableSequenceNumbers
	dst = append(dst, 0)             // moreNotifications
	dst = codec.AppendUint32(dst, change.seq)
	dst = codec.AppendInt64(dst, int64(now))
	dst = codec.AppendUint32(dst, 1)
	dst = append(dst, 1, 0, statusChangeID&0xff, statusChangeID>>8, 1)
	dst = codec.AppendUint32(dst, 5) // length of the body
	dst = codec.AppendUint32(dst, uint32(change.status))
	dst = append(dst, 0) // diagnosticInfo
	dst = t.results.appendTo(dst)
	dst = codec.AppendUint32(dst, noArray)
	m.sent(t.to.Respond(t.id, (*encoded)(&dst)), t, ua.Good)
}
