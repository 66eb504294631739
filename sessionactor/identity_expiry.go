package sessionactor

import "time"

// untilExpiry returns how long the identity of a binding is still good for, and
// whether it ends at all.
func (b *binding) untilExpiry() (rest time.Duration, ends bool) {
	if b.user == nil || b.user.ValidUntil.IsZero() {
		return 0, false
	}
	return time.Until(b.user.ValidUntil), true
}

// expire takes an identity away whose certificate or token has expired: the session
// goes on for an anonymous user, with what that may see, or ends where anonymous
// users are not admitted (Part 4, 7.40.5 and 7.40.6). Its client may activate it
// for another identity at any time.
func (s *Session) expire() {
	before := s.bound.Load()
	if before == nil {
		return
	}
	if rest, ends := before.untilExpiry(); !ends || rest > 0 {
		return
	}
	s.service.visits.Line(before.channel.PeerHost()).Stringer("session", s.id).Str("user", quoted(before.user.Name)).
		Time("valid_until", before.user.ValidUntil).Bool("anonymous_from_now", s.service.config.Endpoints.Anonymous).
		Msg("identity of a session has expired")
	if !s.service.config.Endpoints.Anonymous {
		s.end(endExpired, true)
		return
	}
	after := *before
	after.user = &anybody
	s.grant(&after)
	if !s.bound.CompareAndSwap(before, &after) {
		return // it was ended meanwhile
	}
	s.service.config.Subscriptions.IdentityChanged(s.queue, s.identity())
}
