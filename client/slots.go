package client

// ResponseHandler gets the response to a request that was sent with
// [Client.Send].
//
// HandleResponse runs on the goroutine that reads the connection, or on that of
// a timer when there was no response in time: it must not block, in particular
// not wait for another response; sending more requests is what it is for. typeID is the numeric id of the response's encoding (see
// package id) and body what follows it, beginning with the ResponseHeader; body
// is overwritten after the call. err is the ServiceResult when that is Bad, or
// why there is no response; then body may be nil.
type ResponseHandler interface {
	HandleResponse(typeID uint32, body []byte, err error)
}

// slot holds a request that has no answer yet.
type slot struct {
	h        ResponseHandler
	id       uint32 // the request's id; 0 when the slot is free
	deadline int64  // Unix nanoseconds; 0 when somebody else watches the time
}

// slots finds the request that a response belongs to. A request id is made of
// the slot's number and a count of its uses, so that a late response is not
// taken for that of the slot's next request.
type slots struct {
	all   []slot
	uses  []uint16
	free  []uint16
	timed int // slots with a deadline
}

// used is the number of requests in flight.
func (s *slots) used() int { return len(s.all) - len(s.free) }

// put stores a request and returns its id, or 0 when there are limit already.
func (s *slots) put(h ResponseHandler, deadline int64, limit int) uint32 {
	var i int
	switch n := len(s.free); {
	case s.used() >= limit:
		return 0
	case n > 0:
		i = int(s.free[n-1])
		s.free = s.free[:n-1]
	default:
		i = len(s.all)
		s.all = append(s.all, slot{})
		s.uses = append(s.uses, 0)
	}
	s.uses[i]++
	id := uint32(s.uses[i])<<16 | uint32(i+1)
	s.all[i] = slot{h: h, id: id, deadline: deadline}
	if deadline != 0 {
		s.timed++
	}
	return id
}

// take removes a request; nil when there is none of this id.
func (s *slots) take(id uint32) ResponseHandler {
	i := int(id&0xffff) - 1
	if i < 0 || i >= len(s.all) || s.all[i].id != id {
		return nil
	}
	h := s.all[i].h
	if s.all[i].deadline != 0 {
		s.timed--
	}
	s.all[i] = slot{}
	s.free = append(s.free, uint16(i))
	return h
}

// takeIf removes and returns the requests for which due says so.
func (s *slots) takeIf(due func(*slot) bool) []ResponseHandler {
	var taken []ResponseHandler
	for i := range s.all {
		if sl := &s.all[i]; sl.id != 0 && due(sl) {
			if h := s.take(sl.id); h != nil {
				taken = append(taken, h)
			}
		}
	}
	return taken
}

// earliest is the first deadline; 0 when there is none.
func (s *slots) earliest() int64 {
	var first int64
	if s.timed == 0 {
		return 0
	}
	for i := range s.all {
		if d := s.all[i].deadline; s.all[i].id != 0 && d != 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}
