package sessionactor

import (
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// access is what the service keeps of roles and rights.
type access struct {
	mappings atomic.Pointer[[]RoleMapping] // a slice that is never changed, only replaced
	epoch    atomic.Uint64                 // counts changes of permissions
	wanted   atomic.Bool                   // sessions are about to be told of them

	// changing serialises changes of the mappings. It is held while the program
	// saves them, which may read them.
	changing sync.Mutex

	mu sync.Mutex
	// Guarded by mu: rights by roles and channel, so that ten thousand sessions
	// that may do the same share one.
	rights map[string]*addrspace.Rights
}

// maxSharedRights bounds what a program can fill with users that each have roles
// of their own; beyond it sessions do not share.
const maxSharedRights = 4096

// initAccess takes over the configured mappings, and adds those of the standard's
// roles without any.
func (s *Service) initAccess() {
	var mappings []RoleMapping
	for i := range s.config.Roles {
		m := s.config.Roles[i].clone()
		// An empty list of what is let in would let nobody in.
		m.ApplicationsExclude = m.ApplicationsExclude || len(m.Applications) == 0
		m.EndpointsExclude = m.EndpointsExclude || len(m.Endpoints) == 0
		mappings = append(mappings, m)
	}
	for _, role := range standardRoles {
		if !slices.ContainsFunc(mappings, func(m RoleMapping) bool { return m.Role.nodeID == role.nodeID }) {
			mappings = append(mappings, RoleMapping{Role: role, ApplicationsExclude: true, EndpointsExclude: true})
		}
	}
	s.access.mappings.Store(&mappings)
	s.access.rights = make(map[string]*addrspace.Rights)
	s.config.Space.OnAccessChange(s.accessChanged)
}

// Roles returns who has which role now.
func (s *Service) Roles() []RoleMapping { return cloneMappings(*s.access.mappings.Load()) }

func cloneMappings(list []RoleMapping) []RoleMapping {
	c := make([]RoleMapping, len(list))
	for i := range list {
		c[i] = list[i].clone()
	}
	return c
}

// rights returns what the session's user may do at this moment. Those of a closed
// session may do nothing with what is restricted.
func (s *Session) rights() *addrspace.Rights {
	if bound := s.bound.Load(); bound != nil {
		return bound.rights
	}
	return nil
}

// grant works out the roles of a binding that is about to become the session's:
// once, and not again before the identity, the channel or the rules change.
func (s *Session) grant(b *binding) {
	e := s.evidenceOf(b)
	b.rights = s.service.rightsOf(granted(*s.service.access.mappings.Load(), &e), meets(b.channel.Mode()))
}

// meets returns which restrictions a channel of that mode satisfies.
func meets(mode ua.MessageSecurityMode) ua.AccessRestrictionType {
	switch mode {
	case ua.MessageSecurityModeSign:
		return ua.AccessRestrictionTypeSigningRequired
	case ua.MessageSecurityModeSignAndEncrypt:
		return ua.AccessRestrictionTypeSigningRequired | ua.AccessRestrictionTypeEncryptionRequired
	}
	return ua.AccessRestrictionTypeNone
}

// rightsOf returns the rights of roles on a channel, the same for the same.
func (s *Service) rightsOf(roles []ua.NodeID, channel ua.AccessRestrictionType) *addrspace.Rights {
	key := []byte{byte(channel)}
	for i := range roles {
		key = roles[i].AppendTo(key)
	}
	s.access.mu.Lock()
	defer s.access.mu.Unlock()
	r := s.access.rights[string(key)]
	if r == nil {
		r = s.config.Space.NewRights(roles, channel)
		if len(s.access.rights) < maxSharedRights {
			s.access.rights[string(key)] = r
		}
	}
	return r
}

// evidenceOf returns what the roles of a session follow from.
func (s *Session) evidenceOf(b *binding) evidence {
	e := evidence{
		application: s.application(), signed: s.certificate != nil && b.channel.Mode() != ua.MessageSecurityModeNone,
		endpoint: ua.EndpointType{
			EndpointURL: b.channel.EndpointURL(), SecurityMode: b.channel.Mode(),
			SecurityPolicyURI: b.channel.Policy().URI, TransportProfileURI: transportProfile,
		},
	}
	if u := b.user; u != nil {
		e.kind, e.name, e.given, e.groups, e.roles = u.Kind, u.Name, u.Roles, u.Groups, u.Claims
		if u.Certificate != nil {
			e.print = strings.ToUpper(hex.EncodeToString(u.Certificate.Thumbprint[:]))
			x := u.Certificate.X509()
			e.subject = []string{subjectOf(x.Subject), subjectOf(x.Issuer)}
		}
	}
	return e
}

// regrant gives the session the roles that follow from changed rules. It runs on
// the session's goroutine, as all that changes the binding does.
func (s *Session) regrant() {
	before := s.bound.Load()
	if before == nil || !before.active {
		return
	}
	after := *before
	if s.grant(&after); after.rights == before.rights || !s.bound.CompareAndSwap(before, &after) {
		return // nothing changed, or the session ended
	}
	s.service.visits.Line(after.channel.PeerHost()).Stringer("session", s.id).Int("roles", len(after.rights.Roles())).
		Msg("roles of the session changed")
	s.recheck()
}

// recheck has the session's monitored items look again at what they may read.
func (s *Session) recheck() { s.service.config.Subscriptions.IdentityChanged(s.queue, s.identity()) }

// accessChanged has all sessions recheck their monitored items. Many changes in a
// row are taken together.
func (s *Service) accessChanged() {
	s.access.epoch.Add(1)
	if s.sessions.Len() == 0 || s.access.wanted.Swap(true) {
		return
	}
	tell := func() {
		s.access.wanted.Store(false)
		for _, session := range s.sessions.All() {
			if session.queue.Subscriptions() > 0 {
				session.post(message{kind: messageRecheck})
			}
		}
	}
	if s.config.Pool.Submit(accessOwner, tell) != nil {
		tell() // who cannot wait for its turn does it now
	}
}

// accessOwner is who the worker pool counts these calls for: no session has it.
const accessOwner = 1 << 61

// createMonitoredItems is publishloop's, but for changes of rights that its new
// items could have missed: they are looked at again by the session's goroutine.
func createMonitoredItems(x *exchange) {
	a, session, rights := &x.service.access, x.session, x.rights
	epoch := a.epoch.Load()
	createItems(x)
	if a.epoch.Load() != epoch || session.rights() != rights {
		session.post(message{kind: messageRecheck})
	}
}
