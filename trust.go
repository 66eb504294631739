package uahive

import (
	"time"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/sessionactor"
)

// watchTrust lets go of clients that are not acceptable any more, soon after the certificate store has changed: a
// client that made the change gets its answer before. It runs as long as the server serves.
func (s *Server) watchTrust() {
	s.pki.Watch(s.life, func() {
		if s.wait(answerTime) {
			s.sessions.Recheck()
			s.channels.Recheck()
		}
	})
}

// renegotiate has clients come back that know a certificate that the server no longer has, after a moment in
// which they still get answers.
func (s *Server) renegotiate() {
	s.group.Go("trust", func() {
		if s.wait(answerTime) {
			s.channels.Renegotiate()
		}
	})
}

// sessionHooks are those of the program, and that push management learns of the end of sessions.
func (s *Server) sessionHooks() sessionactor.Hooks {
	hooks := s.herald.ofSessions()
	told := hooks.Closed
	hooks.Closed = func(c *Caller, channel *channelactor.Channel, cause string) {
		if told != nil {
			told(c, channel, cause)
		}
		s.push.sessionClosed(c.SessionID)
	}
	return hooks
}

// wait reports false when the server ends meanwhile.
func (s *Server) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.life.Done():
		return false
	}
}
