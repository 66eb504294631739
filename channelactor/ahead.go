package channelactor

import (
	"sync"

	"github.com/uahive/uahive/codec"
)

// A large value whose size was foreseen is received where it will stay (see
// uasc.Opener.Ahead): the socket reads into that memory instead of a buffer of
// its own, one chunk at a time, and what has arrived of the chunk moves there.

var placements = sync.Pool{New: func() any { return new(codec.Buffer) }}

// place receives the next chunk in the given memory, unless more than fits has
// arrived already. What has arrived may lie in the same memory, further back.
func (s *socket) place(memory []byte) {
	arrived := s.pending()
	if len(arrived) >= len(memory) {
		return
	}
	n := copy(memory, arrived)
	if !s.placed {
		s.drop()
		s.in, s.placed = placements.Get().(*codec.Buffer), true
	}
	s.in.B, s.consumed = memory[:n:len(memory)], 0
}

// leave goes on in a buffer with the given room. The memory that was received
// into is not the socket's any more.
func (s *socket) leave(room int) {
	rest := s.pending()
	buf := codec.GetBuffer(max(room, len(rest)))
	buf.B = append(buf.B[:0], rest...)
	s.drop()
	s.in, s.consumed = buf, 0
}

// drop gives up the buffer that is read into, if there is one.
func (s *socket) drop() {
	switch {
	case s.placed:
		s.in.B = nil
		placements.Put(s.in)
	case s.in != nil:
		s.in.Release()
	}
	s.in, s.placed = nil, false
}
