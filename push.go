package uahive

import (
	"context"
	"crypto"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/sessionactor"
)

const (
	// maxTrustListSize is the largest trust list that is taken from a client, in bytes as it is encoded.
	maxTrustListSize = 1 << 20
	// maxTrustFiles is how many trust lists are open at once, over all sessions. Each may hold a copy of one.
	maxTrustFiles = 16
	// trustFileTimeout closes a trust list that nobody has used for so long (Part 12, 7.8.2.1).
	trustFileTimeout = time.Minute
	// answerTime is how long after a change clients keep their channels: who made the change gets the answer
	// (Part 12, 7.10.9).
	answerTime = 250 * time.Millisecond
)

// push is push management (Part 12, 7.10): the ServerConfiguration object with which administrators look after
// the trust lists and the certificates of the server. It answers users with the role SecurityAdmin, over channels
// that sign and encrypt, and no others. Nothing that they change has an effect before ApplyChanges.
//
// Keys that CreateSigningRequest makes are in memory until their certificates come, and gone with the process.
type push struct {
	server *Server
	store  *pki.Store
	log    zerolog.Logger

	busy atomic.Bool // there may be files or a change
	last atomic.Pointer[outcome]

	mu sync.Mutex // held while files are written, so nothing that may not wait takes it
	// Guarded by mu.
	files  map[uint32]*trustFile
	handle uint32
	change *transaction // nil while there is none
	keys   map[pki.KeyType]crypto.Signer
}

// certificateTypes are the types of application certificates by the types of their keys.
var certificateTypes = map[pki.KeyType]ua.NodeID{
	pki.RSA:      ua.NumericID(0, id.RsaSha256ApplicationCertificateType),
	pki.NistP256: ua.NumericID(0, id.EccNistP256ApplicationCertificateType),
	pki.NistP384: ua.NumericID(0, id.EccNistP384ApplicationCertificateType),
}

var (
	applicationGroup = ua.NumericID(0, id.ServerConfiguration_CertificateGroups_DefaultApplicationGroup)
	userTokenGroup   = ua.NumericID(0, id.ServerConfiguration_CertificateGroups_DefaultUserTokenGroup)

	trustLists = map[pki.Group]ua.NodeID{
		pki.Applications: ua.NumericID(0, id.ServerConfiguration_CertificateGroups_DefaultApplicationGroup_TrustList),
		pki.Users:        ua.NumericID(0, id.ServerConfiguration_CertificateGroups_DefaultUserTokenGroup_TrustList),
	}
)

// bindPush gives the ServerConfiguration object what stands behind it.
func (s *Server) bindPush() *push {
	p := &push{
		server: s, store: s.pki, log: s.log,
		files: make(map[uint32]*trustFile), keys: make(map[pki.KeyType]crypto.Signer),
	}
	p.last.Store(&outcome{})
	s.fixed(id.ServerConfiguration_ServerCapabilities, []string{"DA"})
	s.fixed(id.ServerConfiguration_SupportedPrivateKeyFormats, []string{"PEM"})
	s.fixed(id.ServerConfiguration_MaxTrustListSize, uint32(maxTrustListSize))
	s.fixed(id.ServerConfiguration_MulticastDnsEnabled, false)
	s.fixed(id.ServerConfiguration_HasSecureElement, false)
	s.fixed(id.ServerConfiguration_ApplicationUri, s.config.ApplicationURI)
	s.fixed(id.ServerConfiguration_ApplicationType, ua.ApplicationTypeServer)
	s.fixed(id.ServerConfiguration_ProductUri, s.config.ProductURI)
	s.live(id.ServerConfiguration_CertificateGroups_DefaultApplicationGroup_CertificateTypes, func() any {
		types, _ := p.certificates()
		return types
	})
	s.fixed(id.ServerConfiguration_CertificateGroups_DefaultUserTokenGroup_CertificateTypes,
		[]ua.NodeID{ua.NumericID(0, id.UserCertificateType)})
	p.bindOutcome()
	for group := range trustLists {
		p.bindTrustList(group)
	}
	for node, run := range map[uint32]pushMethod{
		id.ServerConfiguration_ApplyChanges:        p.applyChanges,
		id.ServerConfiguration_CancelChanges:       p.cancelChanges,
		id.ServerConfiguration_UpdateCertificate:   p.updateCertificate,
		id.ServerConfiguration_GetRejectedList:     p.getRejectedList,
		id.ServerConfigurationType_GetCertificates: p.getCertificates,
	} {
		p.bind(s.space.Node(ua.NumericID(0, node)), run)
	}
	if n := s.space.Node(ua.NumericID(0, id.ServerConfiguration_CreateSigningRequest)); n != nil {
		n.SetMethod(&addrspace.Method{Func: p.createSigningRequest})
	}
	return p
}

// pushMethod is one of the methods. It is called with the lock held.
type pushMethod func(caller *Caller, c *addrspace.Call) error

func (p *push) bind(n *addrspace.Node, run pushMethod) {
	if n == nil {
		return
	}
	n.SetMethod(&addrspace.Method{Func: func(ctx context.Context, c *addrspace.Call) error {
		caller, err := p.admit(ctx)
		if err != nil {
			return err
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		p.closeUnused(time.Now())
		return run(caller, c)
	}})
}

// admit lets administrators in, over channels on which nobody listens (Part 12, 7.10.1).
func (p *push) admit(ctx context.Context) (*Caller, error) {
	caller, ok := CallerFrom(ctx)
	switch {
	case !ok || !caller.HasRole(sessionactor.RoleSecurityAdmin):
		return nil, ua.BadUserAccessDenied
	case !caller.Encrypted:
		return nil, ua.BadSecurityModeInsufficient
	}
	return &caller, nil
}

// sessionClosed gives up what a session has left open (Part 12, 7.10.9). It never waits.
func (p *push) sessionClosed(session ua.NodeID) {
	if p != nil && p.busy.Load() {
		p.server.group.Go("push", func() { p.leave(session) })
	}
}

func (p *push) leave(session ua.NodeID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for handle, f := range p.files {
		if f.session == session {
			delete(p.files, handle)
		}
	}
	if p.change != nil && p.change.session == session {
		p.end(ua.BadSessionClosed)
	}
	p.busy.Store(len(p.files) > 0 || p.change != nil)
}

// who describes the caller in the log.
func (p *push) who(caller *Caller) *zerolog.Event {
	return p.log.Info().Str("user", caller.User.Name).Stringer("session", caller.SessionID).Str("application", caller.ApplicationURI)
}

// input returns an argument, whose type was checked against the declaration; the zero value for null.
func input[T any](c *addrspace.Call, i int) T {
	v, _ := ua.As[T](c.Inputs[i])
	return v
}
