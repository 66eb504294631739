package audit

import (
	"strconv"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/events"
)

// ChannelID is the SecureChannelId of a channel in all entries: a text for the number
// that the server has given it. It is empty for a channel that has none.
func ChannelID(number uint32) string {
	if number == 0 {
		return ""
	}
	return strconv.FormatUint(uint64(number), 10)
}

// OpenSecureChannel is what a client asked for with OpenSecureChannel. What could not
// be decrypted stays empty.
type OpenSecureChannel struct {
	Channel uint32
	// Certificate is the client's, as it was sent, and Thumbprint its SHA-1 in
	// hexadecimal digits. Both are kept as they are.
	Certificate       []byte
	Thumbprint        string
	RequestType       ua.SecurityTokenRequestType
	PolicyURI         string
	Mode              ua.MessageSecurityMode
	RequestedLifetime time.Duration
	// CertificateError is the EventID of the entry about the client's certificate,
	// where that is why the request was refused.
	CertificateError []byte
}

// Entry makes an AuditOpenSecureChannelEventType (Part 5, 6.4.6).
func (o *OpenSecureChannel) Entry(who Who, result ua.StatusCode) *Entry {
	who.User = "System/OpenSecureChannel" // no user is known yet
	return who.entry(id.AuditOpenSecureChannelEventType, "SecureChannel/OpenSecureChannel", result,
		events.FieldOf("SecureChannelId", ua.StringVariant(ChannelID(o.Channel))),
		certificateOf("ClientCertificate", o.Certificate),
		events.FieldOf("ClientCertificateThumbprint", ua.StringVariant(o.Thumbprint)),
		events.FieldOf("RequestType", ua.Int32Variant(int32(o.RequestType))),
		events.FieldOf("SecurityPolicyUri", ua.StringVariant(cut(o.PolicyURI))),
		events.FieldOf("SecurityMode", ua.Int32Variant(int32(o.Mode))),
		events.FieldOf("RequestedLifetime", ua.DoubleVariant(milliseconds(o.RequestedLifetime))),
		events.FieldOf("CertificateErrorEventId", bytesOrNull(o.CertificateError)),
	)
}

// CloseSecureChannel makes an AuditChannelEventType for a CloseSecureChannel request
// (Part 5, 6.4.5).
func CloseSecureChannel(who Who, channel uint32) *Entry {
	who.User = "System/CloseSecureChannel"
	return who.entry(id.AuditChannelEventType, "SecureChannel/CloseSecureChannel", ua.Good,
		events.FieldOf("SecureChannelId", ua.StringVariant(ChannelID(channel))))
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func bytesOrNull(b []byte) ua.Variant {
	if len(b) == 0 {
		return ua.Variant{}
	}
	return ua.VariantOf(b)
}
