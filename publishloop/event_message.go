package publishloop

import (
	"encoding/binary"
	"math"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// appendDataAndEvents appends the notifications of a subscription that has items for
// events: a DataChangeNotification and an EventNotificationList, each at most once
// and only where it has something to tell (Part 4, 7.25). Both count towards the
// client's and the server's limits.
func (s *Subscription) appendDataAndEvents(dst []byte, now ua.DateTime, end int) []byte {
	most := s.maxNotifications()
	kindsAt := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dataAt := len(dst)
	dst = appendListHead(dst, dataChangeNotificationID)
	list := codec.GetBuffer(512)
	defer list.Release()
	list.B = appendListHead(list.B[:0], eventNotificationListID)
	headSize := len(list.B)
	data, events := 0, 0
	var dv ua.DataValue
	for data+events < most && s.ready.count > 0 {
		first := data+events == 0
		it := s.ready.head()
		if it.attribute == ua.AttributeIDEventNotifier {
			var ok, fits bool
			if list.B, ok, fits = s.ready.takeEvent(list.B, end-len(dst), first); !fits {
				break
			}
			if ok {
				events++
			}
			continue
		}
		before := len(dst)
		handle, ok := s.ready.take(s, &dv, now)
		if !ok {
			continue
		}
		dst = codec.AppendUint32(dst, handle)
		dst = dv.AppendTo(dst)
		if len(dst)+len(list.B)-headSize > end && !first {
			s.ready.putBack(it, &dv)
			dst = dst[:before]
			break
		}
		data++
	}
	kinds := 0
	if data > 0 || events == 0 {
		kinds++
		dst = codec.AppendUint32(dst, noArray) // diagnosticInfos
		endList(dst[dataAt:], data)
	} else {
		dst = dst[:dataAt]
	}
	if events > 0 {
		kinds++
		endList(list.B, events)
		dst = append(dst, list.B...)
	}
	binary.LittleEndian.PutUint32(dst[kindsAt:], uint32(kinds))
	s.counts.notifications += uint32(data + events)
	s.counts.events += uint32(events)
	s.manager.stats.notifications.Add(uint64(data + events))
	return dst
}

// appendListHead begins an ExtensionObject whose body begins with an array.
func appendListHead(dst []byte, typeID uint16) []byte {
	dst = append(dst, 1, 0, byte(typeID), byte(typeID>>8), 1)
	return append(dst, 0, 0, 0, 0, 0, 0, 0, 0) // length of the body, number of elements
}

// endList fills in what appendListHead left open.
func endList(list []byte, elements int) {
	const head = 5
	binary.LittleEndian.PutUint32(list[head:], uint32(len(list)-head-4))
	binary.LittleEndian.PutUint32(list[head+4:], uint32(elements))
}

// takeEvent appends the oldest event of the first item as an EventFieldList, and takes
// it out of the queue, and the item off the list when that was its last. ok is false
// when the item had none. fits is false when the list would become longer than room,
// and the event stays; an event that is the first in its message is made to fit.
func (l *readyList) takeEvent(dst []byte, room int, first bool) (_ []byte, ok, fits bool) {
	it := l.head()
	it.mu.Lock()
	defer it.mu.Unlock()
	q := it.extra.events
	e, ok := q.head()
	if ok {
		before := len(dst)
		most := math.MaxInt
		if first {
			most = max(room-len(dst)-8, 0)
		}
		dst = codec.AppendUint32(dst, it.handle)
		dst = e.filter.AppendFields(dst, e.event, most)
		if len(dst) > room && !first {
			return dst[:before], false, false
		}
		q.pop()
		q.tell(&it.sub.manager.queueBytes)
	}
	if q.waiting() == 0 {
		l.unlink(it)
		it.listed = false
	}
	return dst, ok, true
}
