package audit

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// Certificate is a certificate that was refused.
type Certificate struct {
	// DER is the certificate as it was sent.
	DER []byte
	// InvalidHost and InvalidURI are what the certificate does not name, in an entry
	// about BadCertificateHostNameInvalid or BadCertificateUriInvalid.
	InvalidHost, InvalidURI string
}

// Entry makes the AuditCertificateEventType that belongs to the step of the validation
// that failed, which has this result; nil for a result that is not about certificates.
func (c *Certificate) Entry(who Who, result ua.StatusCode) *Entry {
	typ := certificateType(result)
	if typ == 0 {
		return nil
	}
	e := who.entry(typ, "Security/Certificate", result, certificateOf("Certificate", c.DER))
	if typ == id.AuditCertificateDataMismatchEventType {
		e.Fields = append(e.Fields,
			events.FieldOf("InvalidHostname", ua.StringVariant(cut(c.InvalidHost))),
			events.FieldOf("InvalidUri", ua.StringVariant(cut(c.InvalidURI))))
	}
	return e
}

// certificateType is the last column of the table of validation steps (Part 4, 6.1.3).
func certificateType(result ua.StatusCode) uint32 {
	switch result.Code() {
	case ua.BadCertificateInvalid, ua.BadCertificateChainIncomplete, ua.BadCertificatePolicyCheckFailed:
		return id.AuditCertificateInvalidEventType
	case ua.BadCertificateUntrusted:
		return id.AuditCertificateUntrustedEventType
	case ua.BadCertificateTimeInvalid, ua.BadCertificateIssuerTimeInvalid:
		return id.AuditCertificateExpiredEventType
	case ua.BadCertificateHostNameInvalid, ua.BadCertificateURIInvalid:
		return id.AuditCertificateDataMismatchEventType
	case ua.BadCertificateUseNotAllowed, ua.BadCertificateIssuerUseNotAllowed:
		return id.AuditCertificateMismatchEventType
	case ua.BadCertificateRevocationUnknown, ua.BadCertificateIssuerRevocationUnknown,
		ua.BadCertificateRevoked, ua.BadCertificateIssuerRevoked:
		return id.AuditCertificateRevokedEventType
	}
	return 0
}
