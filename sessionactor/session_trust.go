package sessionactor

import "github.com/uahive/uahive/channelactor"

// Recheck asks again over the client of every session, and ends the sessions of those that are not acceptable
// any more (Part 12, 7.8.2.5). Their subscriptions go too: nobody could come back for them. It is for the
// moment after the trust lists have changed, before the channels are asked, so that what is outstanding is
// still answered.
func (s *Service) Recheck() {
	for _, session := range s.sessions.All() {
		if session.certificate == nil {
			continue
		}
		if err := s.config.PKI.Recheck(session.certificate, channelactor.ClientCheck(session.policy)); err != nil {
			session.end(endTrust, true)
			session.post(message{kind: messageExpel}) // wakes its goroutine, which ends
		}
	}
}
