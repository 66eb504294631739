package sessionactor

import (
	"crypto/rand"
	"encoding/binary"

	"github.com/uahive/uahive/codec/ua"
)

// browsePoint is the name of a continuation point: a number that counts up
// within the session, and random bytes, so that none can be guessed.
type browsePoint [16]byte

// browsePoints are the continuation points of one session (Part 4, 7.9).
// Guarded by the session's mu.
type browsePoints struct {
	next   uint64
	points map[browsePoint]*cursor
}

// clearPoints forgets all points. The caller holds mu.
func (s *Session) clearPoints() {
	s.service.stats.points.Add(-int64(len(s.browsing.points)))
	s.browsing.points = nil
}

// keepPoint stores where a browse stopped. A session has a fixed number of
// points; none is dropped to make room for another.
func (s *Session) keepPoint(c *cursor) (browsePoint, ua.StatusCode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := &s.browsing
	if len(p.points) >= s.service.limits.BrowseContinuationPoints || s.bound.Load() == nil {
		return browsePoint{}, ua.BadNoContinuationPoints
	}
	var point browsePoint
	rand.Read(point[:])
	binary.LittleEndian.PutUint64(point[:], p.next)
	p.next++
	if p.points == nil {
		p.points = make(map[browsePoint]*cursor)
	}
	kept := *c
	p.points[point] = &kept
	s.service.stats.points.Add(1)
	return point, ua.Good
}

// takePoint removes a point and returns what it stands for, nil for unknown ones.
func (s *Session) takePoint(name []byte) *cursor {
	var point browsePoint
	if len(name) != len(point) {
		return nil
	}
	copy(point[:], name)
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.browsing.points[point]
	if ok {
		delete(s.browsing.points, point)
		s.service.stats.points.Add(-1)
	}
	return c
}

// firstPoint returns the number that the next point gets.
func (s *Session) firstPoint() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.browsing.next
}

// releasePoints forgets the points from a number on: those of a response that
// could not be sent.
func (s *Session) releasePoints(from uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for point := range s.browsing.points {
		if binary.LittleEndian.Uint64(point[:]) >= from {
			delete(s.browsing.points, point)
			s.service.stats.points.Add(-1)
		}
	}
}
