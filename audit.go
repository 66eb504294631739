package uahive

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/audit"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// AuditEntry is one entry of the audit trail, see [Config.Auditing].
type AuditEntry = audit.Entry

// What waits for Config.Audit at most. It stops a function that blocks from taking
// memory without end.
const (
	auditLimit = 16_384
	auditBytes = 64 << 20
)

// A host has auditLines lines in the log about its entries in each auditPeriod.
const (
	auditLines  = 20
	auditPeriod = 10 * time.Second
)

// auditor is the audit trail of a server, and takes its entries to the program. All of
// it is zero where auditing is off.
type auditor struct {
	// Immutable after start.
	trail *audit.Trail
	lines *channelactor.PeerLog
	tell  func(AuditEntry)
	log   zerolog.Logger
	box   *actors.Mailbox[*audit.Entry] // nil where the program wants no entries
	stop  chan struct{}
	group actors.Group

	waiting, bytes atomic.Int64
	dropped        atomic.Uint64
}

// startAudit makes the trail, if there is to be one.
func (s *Server) startAudit() {
	if !s.config.Auditing {
		return
	}
	a := &s.auditor
	a.tell, a.log = s.config.Audit, s.log
	a.lines = channelactor.NewPeerLog(s.log, zerolog.InfoLevel, auditLines, auditPeriod)
	config := audit.Config{ServerID: s.config.ApplicationURI, Report: s.subs.Report, Heard: s.subs.Heard, Line: a.lines.Line}
	if a.tell != nil {
		a.box, a.stop = actors.NewMailbox[*audit.Entry](0), make(chan struct{})
		a.group.Go("audit", a.run)
		config.Tell = a.post
	}
	a.trail = audit.New(config)
}

func (a *auditor) post(e *audit.Entry) {
	size := int64(e.Size())
	if a.waiting.Add(1) > auditLimit || a.bytes.Add(size) > auditBytes && a.waiting.Load() > 1 || !a.box.Post(e) {
		a.dropped.Add(1)
		a.waiting.Add(-1)
		a.bytes.Add(-size)
	}
}

func (a *auditor) run() {
	for {
		select {
		case <-a.box.Wait():
			a.drain()
		case <-a.stop:
			a.box.Close()
			a.drain()
			return
		}
	}
}

func (a *auditor) drain() {
	for _, e := range a.box.Drain(nil) {
		a.guard(e)
		a.waiting.Add(-1)
		a.bytes.Add(-int64(e.Size()))
	}
}

func (a *auditor) guard(e *audit.Entry) {
	defer func() {
		if p := recover(); p != nil {
			a.log.Error().Str("callback", "audit").Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic in user code")
		}
	}()
	a.tell(*e)
}

// close has the last entries told and waits for that.
func (a *auditor) close(ctx context.Context) error {
	if a.lines != nil {
		a.lines.Close()
	}
	if a.stop == nil {
		return nil
	}
	close(a.stop)
	return a.group.Wait(ctx)
}

// ofChannels records what becomes of channels (Part 4, 6.5.5).
func (a *auditor) ofChannels() channelactor.Audit {
	if a.trail == nil {
		return channelactor.Audit{}
	}
	return channelactor.Audit{Opened: a.opened, Closed: a.closed}
}

func whoOf(c *channelactor.Channel, begun time.Time, entry string) audit.Who {
	return audit.Who{Time: begun, EntryID: entry, Peer: c.RemoteAddr().String(), Host: c.PeerHost()}
}

// opened records an OpenSecureChannel request, and what was wrong with its certificate.
func (a *auditor) opened(c *channelactor.Channel, o *channelactor.Opening, err error) {
	if err != nil && !a.trail.Admits(c.PeerHost()) {
		return
	}
	who := whoOf(c, o.Begun, o.Request.RequestHeader.AuditEntryID)
	opening := audit.OpenSecureChannel{
		Channel: c.ID(), RequestType: o.Request.RequestType, PolicyURI: o.PolicyURI, Mode: o.Request.SecurityMode,
		RequestedLifetime: time.Duration(o.Request.RequestedLifetime) * time.Millisecond,
	}
	if o.Renews {
		opening.RequestType = ua.SecurityTokenRequestTypeRenew
	}
	certificate, status := certificateOf(o, err)
	if certificate != nil {
		opening.Certificate, opening.Thumbprint = certificate.DER, certificate.ThumbprintString()
		if len(certificate.ApplicationURIs) > 0 {
			who.Application = certificate.ApplicationURIs[0]
		}
	} else {
		opening.Certificate = append([]byte(nil), o.Certificate...) // the message's memory is used again
	}
	if e := (&audit.Certificate{DER: opening.Certificate}).Entry(who, status); e != nil {
		opening.CertificateError = a.trail.Record(e)
	}
	a.trail.Record(opening.Entry(who, status))
}

// certificateOf returns the client's certificate, nil where there is none that can be
// parsed, and what was wrong with the request as exactly as it is known.
func certificateOf(o *channelactor.Opening, err error) (*pki.Parsed, ua.StatusCode) {
	status := ua.StatusOf(err)
	var refused *pki.Error
	if errors.As(err, &refused) {
		status = refused.Detail
	}
	if o.Peer != nil || len(o.Certificate) == 0 {
		return o.Peer, status
	}
	certificate, unfit := pki.Intern(o.Certificate)
	if unfit != nil {
		return nil, ua.BadCertificateInvalid
	}
	return certificate, status
}

// closed records a CloseSecureChannel request.
func (a *auditor) closed(c *channelactor.Channel, auditEntryID string) {
	who := whoOf(c, time.Now(), auditEntryID)
	if peer := c.PeerCertificate(); peer != nil && len(peer.ApplicationURIs) > 0 {
		who.Application = peer.ApplicationURIs[0]
	}
	a.trail.Record(audit.CloseSecureChannel(who, c.ID()))
}

// SecretOption is a [MethodOption].
type SecretOption struct{}

func (SecretOption) method(s *methodSpec) { s.secret = true }

// SecretArguments says that a method takes or returns secrets, such as passwords: the
// audit trail says that it was called, by whom and with which result, and leaves its
// arguments out.
func SecretArguments() SecretOption { return SecretOption{} }
