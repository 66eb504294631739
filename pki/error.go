package pki

import (
	"encoding/hex"

	"github.com/uahive/uahive/codec/ua"
)

// Error is a refused certificate.
type Error struct {
	// Status is what the peer may know: [ua.BadSecurityChecksFailed] unless it is trusted otherwise.
	Status ua.StatusCode
	// Detail is the code of the step that failed (Part 4, 6.1.3), for the log and for audit events.
	Detail ua.StatusCode
	// Reason is a sentence for the log. It may hold text of the peer's certificate, quoted.
	Reason string
	// Thumbprint is the SHA-1 of the refused certificate; zero when it could not be parsed.
	Thumbprint [20]byte
}

func (e *Error) Error() string {
	return "certificate " + hex.EncodeToString(e.Thumbprint[:]) + " refused: " + e.Reason + " (" + e.Detail.Error() + ")"
}

// Unwrap makes [ua.StatusOf] and errors.As find the code for the peer.
func (e *Error) Unwrap() error { return e.Status }

// failure is the outcome of one step.
type failure struct {
	code   ua.StatusCode
	reason string
}

// disclosed returns what a trusted peer may know of a failed step. That a certificate could not be
// parsed, or that an authority in its chain is unfit, is no business of the peer.
func disclosed(detail ua.StatusCode) ua.StatusCode {
	switch detail {
	case ua.BadCertificateTimeInvalid,
		ua.BadCertificateIssuerTimeInvalid,
		ua.BadCertificateHostNameInvalid,
		ua.BadCertificateURIInvalid,
		ua.BadCertificateUseNotAllowed,
		ua.BadCertificatePolicyCheckFailed,
		ua.BadCertificateRevocationUnknown,
		ua.BadCertificateIssuerRevocationUnknown,
		ua.BadCertificateRevoked,
		ua.BadCertificateIssuerRevoked:
		return detail
	}
	return ua.BadSecurityChecksFailed
}
