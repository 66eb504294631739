package sessionactor

import (
	"context"
	"crypto/x509"
	"errors"
	"net/url"
	"time"

	"github.com/uahive/uahive/audit"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// trail is the audit trail, nil where it is switched off.
func (s *Service) trail() *audit.Trail { return s.config.Audit }

// whoOf begins what an entry says of a client.
func whoOf(c *channelactor.Channel, begun time.Time, entry, application string) audit.Who {
	return audit.Who{Time: begun, EntryID: entry, Application: application, Peer: c.RemoteAddr().String(), Host: c.PeerHost()}
}

// who is the session's client and its user.
func (s *Session) who(c *channelactor.Channel, begun time.Time, entry string, bound *binding) audit.Who {
	who := whoOf(c, begun, entry, s.application())
	if bound != nil && bound.user != nil {
		who.User = bound.user.Name
	}
	return who
}

// clientEntry is the auditEntryId of the request behind a context.
func clientEntry(ctx context.Context) string {
	if c, ok := ctx.Value(callerKey{}).(*Caller); ok {
		return c.entry
	}
	return ""
}

// auditCreate records a CreateSession request. The session is nil where none was made.
func (s *Service) auditCreate(c *channelactor.Channel, begun time.Time, req *ua.CreateSessionRequest, session *Session, result ua.StatusCode) {
	trail := s.trail()
	if trail == nil || result.IsBad() && !trail.Admits(c.PeerHost()) {
		return
	}
	who := whoOf(c, begun, req.RequestHeader.AuditEntryID, req.ClientDescription.ApplicationURI)
	create := audit.CreateSession{Channel: c.ID(), Certificate: req.ClientCertificate}
	if peer := c.PeerCertificate(); peer != nil && !result.IsBad() {
		create.Certificate, create.Thumbprint = peer.DER, peer.ThumbprintString()
	} else if given, err := pki.Intern(req.ClientCertificate); err == nil {
		create.Thumbprint = given.ThumbprintString()
	}
	if session != nil {
		create.Session, create.Timeout = session.id, session.timeout
		if s.strangeURL(c, req.EndpointURL) {
			create.EndpointURL = req.EndpointURL
		}
	}
	refused := audit.Certificate{DER: req.ClientCertificate, InvalidURI: req.ClientDescription.ApplicationURI}
	if e := refused.Entry(who, result); e != nil {
		trail.Record(e)
	}
	trail.Record(create.Entry(who, result))
}

// strangeURL reports whether the client has reached the server under a host that the
// server's certificate does not name (Part 4, 5.7.2.2).
func (s *Service) strangeURL(c *channelactor.Channel, endpoint string) bool {
	u, err := url.Parse(endpoint)
	if err != nil || u.Hostname() == "" {
		return true
	}
	own := s.own(c)
	if own == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(own.DER)
	return err == nil && certificate.VerifyHostname(u.Hostname()) != nil
}

// auditActivation records an ActivateSession request: with the user that the session
// has now, or with the error for which it was refused. Where the session is nil, the
// request named none that exists.
func (s *Service) auditActivation(c *channelactor.Channel, begun time.Time, req *ua.ActivateSessionRequest, session *Session, user *User, err error) {
	trail := s.trail()
	if trail == nil || err != nil && !trail.Admits(c.PeerHost()) {
		return
	}
	who := whoOf(c, begun, req.RequestHeader.AuditEntryID, "")
	activate := audit.ActivateSession{Channel: c.ID(), Token: req.UserIdentityToken.Value}
	if session != nil {
		activate.Session, who.Application = session.id, session.application()
	}
	if user != nil {
		who.User, activate.Roles = user.Name, session.rights().Roles()
	}
	switch t := activate.Token.(type) {
	case *ua.UserNameIdentityToken:
		if user == nil {
			who.User = t.UserName
		}
	case *ua.X509IdentityToken:
		if certificate, err := pki.Intern(t.CertificateData); user == nil && err == nil {
			who.User = certificate.X509().Subject.String()
		}
		s.auditUserCertificate(who, t.CertificateData, err)
	}
	trail.Record(activate.Entry(who, ua.StatusOf(err)))
}

// auditUserCertificate records that the certificate of a user was refused, if that is
// what the error says.
func (s *Service) auditUserCertificate(who audit.Who, der []byte, err error) {
	var refused *pki.Error
	if !errors.As(err, &refused) {
		return
	}
	if e := (&audit.Certificate{DER: der}).Entry(who, refused.Detail); e != nil {
		s.trail().Record(e)
	}
}

// auditEnd records the end of a session that no CloseSession has asked for.
func (s *Session) auditEnd(bound *binding, cause endCause) {
	trail := s.service.trail()
	if trail == nil || cause == endClosed {
		return
	}
	source := audit.SourceSessionTerminated
	if cause == endTimeout {
		source = audit.SourceSessionTimeout
	}
	trail.Record(audit.SessionEnded(s.who(bound.channel, time.Now(), "", bound), source, s.id, ua.Good))
}

// auditClose records that a CloseSession request ends the session.
func (s *Session) auditClose(r *deferred) {
	if bound := s.bound.Load(); bound != nil && s.service.trail() != nil {
		s.service.trail().Record(audit.SessionEnded(s.who(r.channel, r.arrived, clientEntry(r.ctx), bound), audit.SourceCloseSession, s.id, ua.Good))
	}
}

// auditRefusedClose records a CloseSession request that named no session of the channel.
func (x *exchange) auditRefusedClose(result ua.StatusCode) {
	if trail := x.service.trail(); trail != nil && trail.Admits(x.channel.PeerHost()) {
		who := whoOf(x.channel, x.now, x.header.AuditEntryID, "")
		trail.Record(audit.SessionEnded(who, audit.SourceCloseSession, ua.NodeID{}, result))
	}
}

// who is the client of a request of an activated session, and its user.
func (x *exchange) who() audit.Who {
	return x.session.who(x.channel, x.now, x.header.AuditEntryID, x.session.bound.Load())
}

// auditCancel records a Cancel request.
func (x *exchange) auditCancel(handle uint32) {
	if trail := x.service.trail(); trail != nil {
		trail.Record(audit.Cancel(x.who(), x.session.id, handle, ua.Good))
	}
}

// auditTransfer records a TransferSubscriptions request. It has failed where any of the
// subscriptions could not be taken over.
func (x *exchange) auditTransfer(result ua.StatusCode, resp *ua.TransferSubscriptionsResponse) {
	trail := x.service.trail()
	if trail == nil {
		return
	}
	for i := 0; i < len(resp.Results) && !result.IsBad(); i++ {
		result = resp.Results[i].StatusCode
	}
	trail.Record(audit.TransferSubscriptions(x.who(), x.session.id, result))
}
