package channelactor

import (
	"errors"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// Audit is told of requests about channels that leave a trail (Part 4, 6.5.5). Its
// functions are called on readers' goroutines, maybe with the send state held: they
// must neither wait nor answer, nor keep what they are given. Fields that are nil are
// left out.
type Audit struct {
	// Opened is called for each OpenSecureChannel that made a channel, with no error,
	// and for each that was refused. A channel that is renewed is not told of.
	Opened func(c *Channel, o *Opening, err error)
	// Closed is called for each CloseSecureChannel, with the auditEntryId of the request.
	Closed func(c *Channel, auditEntryID string)
}

// Opening is an OpenSecureChannel request, as far as it could be read before it was
// refused.
type Opening struct {
	// Begun is when it began to be served.
	Begun time.Time
	// Certificate is the client's, or the chain of it, as it was sent: it aliases the
	// message. Peer is the same, parsed; nil where that was not reached.
	Certificate []byte
	Peer        *pki.Parsed
	// PolicyURI is what the client asked for, in its own words.
	PolicyURI string
	// Renews says that the channel was open already.
	Renews bool
	// Request is what the message said. It is empty where nobody came to decrypt it.
	Request *ua.OpenSecureChannelRequest
}

// audit tells of the request's outcome.
func (o *opening) audit(err error) {
	c := o.channel
	told := c.server.config.Audit.Opened
	if told == nil || errors.Is(err, errUnwanted) {
		return
	}
	told(c, &Opening{
		Begun: o.begun, Certificate: o.header.SenderCertificate, Peer: o.peer, PolicyURI: o.header.PolicyURI,
		Renews: o.renews, Request: &o.request,
	}, err)
}

// auditClose tells of a CloseSecureChannel request. One that cannot be decoded closes
// the channel like any other.
func (c *Channel) auditClose(body []byte) {
	told := c.server.config.Audit.Closed
	if told == nil {
		return
	}
	d := codec.NewDecoder(body, &c.server.decoding)
	var typeID ua.NodeID
	var header ua.RequestHeader
	typeID.DecodeFrom(d)
	header.DecodeFrom(d)
	if d.Err() != nil {
		header.AuditEntryID = ""
	}
	told(c, header.AuditEntryID)
}
