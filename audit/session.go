package audit

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// CreateSession is a CreateSession request with its answer.
type CreateSession struct {
	// Session is the id of the new session; null where none was made.
	Session ua.NodeID
	Channel uint32
	// Certificate is the one of the request, and Thumbprint its SHA-1 in hexadecimal
	// digits. Both are kept as they are.
	Certificate []byte
	Thumbprint  string
	Timeout     time.Duration // as it was revised
	// EndpointURL is set where it names another host than the server's certificate.
	EndpointURL string
}

// Entry makes an AuditCreateSessionEventType (Part 5, 6.4.8), or the subtype
// AuditUrlMismatchEventType (6.4.9) where EndpointURL is set.
func (c *CreateSession) Entry(who Who, result ua.StatusCode) *Entry {
	who.User = "System/CreateSession"
	e := who.entry(id.AuditCreateSessionEventType, "Session/CreateSession", result,
		events.FieldOf("SessionId", ua.VariantOf(c.Session)),
		events.FieldOf("SecureChannelId", ua.StringVariant(ChannelID(c.Channel))),
		certificateOf("ClientCertificate", c.Certificate),
		events.FieldOf("ClientCertificateThumbprint", ua.StringVariant(c.Thumbprint)),
		events.FieldOf("RevisedSessionTimeout", ua.DoubleVariant(milliseconds(c.Timeout))),
	)
	if c.EndpointURL != "" {
		e.Type = id.AuditUrlMismatchEventType
		e.Fields = append(e.Fields, events.FieldOf("EndpointUrl", ua.StringVariant(cut(c.EndpointURL))))
	}
	return e
}

// ActivateSession is an ActivateSession request with its answer.
type ActivateSession struct {
	Session ua.NodeID
	Channel uint32
	// Token is what the client sent. Its secrets do not get into the entry.
	Token ua.Structure
	// Roles are those that the user has now; nil where the request was refused.
	Roles []ua.NodeID
}

// Entry makes an AuditActivateSessionEventType (Part 5, 6.4.10). Who names the user
// that the session has now, or the one that was claimed.
func (a *ActivateSession) Entry(who Who, result ua.StatusCode) *Entry {
	e := who.entry(id.AuditActivateSessionEventType, "Session/ActivateSession", result,
		events.FieldOf("SessionId", ua.VariantOf(a.Session)),
		// The parameter is not used any more (Part 4, 5.7.3.2).
		events.FieldOf("ClientSoftwareCertificates", ua.Variant{}),
		events.FieldOf("UserIdentityToken", tokenOf(a.Token)),
		events.FieldOf("SecureChannelId", ua.StringVariant(ChannelID(a.Channel))),
	)
	if !result.IsBad() {
		e.Fields = append(e.Fields, events.FieldOf("CurrentRoleIds", ua.SliceVariant(a.Roles)))
	}
	return e
}

// tokenOf returns an identity token without what proves it: neither a password nor an
// issued token, whoever has which is its user.
func tokenOf(token ua.Structure) ua.Variant {
	var shown ua.Structure
	switch t := token.(type) {
	case *ua.AnonymousIdentityToken:
		shown = &ua.AnonymousIdentityToken{PolicyID: cut(t.PolicyID)}
	case *ua.UserNameIdentityToken:
		shown = &ua.UserNameIdentityToken{
			PolicyID: cut(t.PolicyID), UserName: cut(t.UserName), EncryptionAlgorithm: cut(t.EncryptionAlgorithm),
		}
	case *ua.X509IdentityToken:
		certificate := &ua.X509IdentityToken{PolicyID: cut(t.PolicyID)}
		if len(t.CertificateData) <= maxCertificate {
			certificate.CertificateData = t.CertificateData
		}
		shown = certificate
	case *ua.IssuedIdentityToken:
		shown = &ua.IssuedIdentityToken{PolicyID: cut(t.PolicyID), EncryptionAlgorithm: cut(t.EncryptionAlgorithm)}
	default:
		return ua.Variant{}
	}
	return ua.VariantOf(ua.ObjectOf(shown))
}

// The sources of entries about the end of a session (Part 4, 6.5.6).
const (
	SourceCloseSession      = "Session/CloseSession"
	SourceSessionTimeout    = "Session/Timeout"
	SourceSessionTerminated = "Session/Terminated"
)

// SessionEnded makes an AuditSessionEventType for a CloseSession request, or for the
// end of a session that had another cause. The session is null where a request named
// none that exists.
func SessionEnded(who Who, source string, session ua.NodeID, result ua.StatusCode) *Entry {
	return who.entry(id.AuditSessionEventType, source, result, events.FieldOf("SessionId", ua.VariantOf(session)))
}

// TransferSubscriptions makes an AuditSessionEventType for a request by which a
// session takes over subscriptions (Part 4, 6.5.11).
func TransferSubscriptions(who Who, session ua.NodeID, result ua.StatusCode) *Entry {
	return who.entry(id.AuditSessionEventType, "Session/TransferSubscriptions", result,
		events.FieldOf("SessionId", ua.VariantOf(session)))
}

// Cancel makes an AuditCancelEventType (Part 5, 6.4.11).
func Cancel(who Who, session ua.NodeID, handle uint32, result ua.StatusCode) *Entry {
	return who.entry(id.AuditCancelEventType, "Session/Cancel", result,
		events.FieldOf("SessionId", ua.VariantOf(session)), events.FieldOf("RequestHandle", ua.UInt32Variant(handle)))
}
