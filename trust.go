package uahive

// watchTrust lets go of clients that are not acceptable any more, as soon as the
// certificate store has changed. It runs as long as the server serves.
func (s *Server) watchTrust() {
	s.pki.Watch(s.life, func() {
		s.sessions.Recheck()
		s.channels.Recheck()
	})
}
