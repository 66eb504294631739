package sessionactor

import (
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/publishloop"
)

// responder is where the Publish responses go of a session that takes smaller
// ones than its channel does.
type responder struct {
	*channelactor.Channel
	most int
}

var (
	_ publishloop.Responder = (*channelactor.Channel)(nil)
	_ publishloop.Responder = responder{}
)

// Respond implements [publishloop.Responder].
func (r responder) Respond(requestID uint32, m publishloop.Appender) error {
	return r.RespondWithin(requestID, m, r.most)
}

// MaxResponse implements [publishloop.Responder].
func (r responder) MaxResponse() int { return r.most }

// faultSize is what a ServiceFault needs at most: whatever a client asks for, its
// requests are answered.
const faultSize = 64

// responder returns the way of the session's Publish responses on a channel. It
// is the same for the same channel each time.
func (s *Session) responder(c *channelactor.Channel) publishloop.Responder {
	if most := c.MaxResponse(); s.maxResponse == 0 || most > 0 && int64(s.maxResponse) >= int64(most) {
		return c
	}
	return responder{c, max(int(s.maxResponse), faultSize)}
}
