package channelactor

import (
	"bytes"
	"crypto"
	"fmt"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// tokenTolerance is the share of its lifetime for which an expired token is
// still accepted (Part 4, 5.6.2.1: 25 %).
const tokenTolerance = 4

// opening is one OpenSecureChannel request under way: first what the chunk says
// in the open, then what was decrypted and decided.
type opening struct {
	channel *Channel
	header  uasc.OpenHeader
	policy  *uasc.Policy
	own     *pki.Certificate // ours, for the policy
	chunk   []byte
	begun   time.Time
	renews  bool

	peer      *pki.Parsed
	requestID uint32
	request   ua.OpenSecureChannelRequest
	mode      uasc.Mode
	token     *uasc.Token
	share     uasc.Share
	lifetime  time.Duration
}

// open handles an OPN chunk: it issues the first token or renews it. What the
// header says is checked before anything that costs a private-key operation.
func (c *Channel) open(chunk []byte) bool {
	o := &opening{channel: c, chunk: chunk, begun: time.Now(), renews: c.stage == stageLive}
	if err := o.parse(); err != nil {
		o.audit(err)
		c.fail(err)
		return false
	}
	if err := c.offload(actors.Last, o.policy, o.understand); err != nil {
		o.audit(err)
		c.failOpen(err)
		return false
	}
	first := c.stage != stageLive
	goOn := o.answer()
	if first && c.stage == stageLive {
		c.server.log.Debug().Str("peer", c.remote).Uint32("channel", c.id).Str("policy", c.policy.Name).
			Stringer("mode", o.mode).Msg("channel opened")
		o.audit(nil)
		c.server.config.Hooks.opened(c)
		// Where the trust lists have changed since the client was validated, whoever
		// closed the channels of clients that went may have missed this one.
		if c.recheck() != nil {
			return false
		}
	}
	return goOn
}

// understand does what comes before the answer.
func (o *opening) understand() error {
	if err := o.unseal(); err != nil {
		return err
	}
	return o.decide()
}

// parse checks the unprotected header.
func (o *opening) parse() error {
	c := o.channel
	header, err := uasc.ParseOpen(o.chunk)
	if err != nil {
		return err
	}
	policy, known := uasc.PolicyByURI(header.PolicyURI)
	if !known {
		return fmt.Errorf("policy %.100q: %w", header.PolicyURI, ua.BadSecurityPolicyRejected)
	}
	o.header, o.policy = header, policy
	if c.stage == stageLive {
		o.own = c.own // the one that the client knows, also when there is a newer one
		if header.ChannelID != c.id {
			return fmt.Errorf("renewal names another channel: %w", ua.BadTcpSecureChannelUnknown)
		}
		if policy != c.policy {
			return fmt.Errorf("renewal with another policy: %w", ua.BadSecurityChecksFailed)
		}
		return nil
	}
	if header.ChannelID != 0 {
		return fmt.Errorf("no such channel on this connection: %w", ua.BadTcpSecureChannelUnknown)
	}
	o.own = c.server.config.PKI.CertificateFor(policy.Curve)
	c.id = nonZero(&c.server.nextChannel)
	c.opener = uasc.NewOpener(uasc.OpenerConfig{Limits: c.limits, Policy: policy, Budget: (*channelBudget)(c), Foresee: c.server.foresee()})
	if !policy.Secure() {
		return nil
	}
	if o.own == nil || !c.server.config.Offers(policy, ua.MessageSecurityModeSign) &&
		!c.server.config.Offers(policy, ua.MessageSecurityModeSignAndEncrypt) {
		return fmt.Errorf("policy %s is not offered: %w", policy.Name, ua.BadSecurityPolicyRejected)
	}
	// The ECC policies do not encrypt the message, and want the thumbprint all the
	// same (Part 6, 6.7.2.3).
	if !header.IsFor(o.own.Thumbprint[:]) {
		return fmt.Errorf("message is for another certificate than that of %s: %w", policy.Name, ua.BadCertificateInvalid)
	}
	if len(header.SenderCertificate) == 0 {
		return fmt.Errorf("no client certificate: %w", ua.BadSecurityChecksFailed)
	}
	for _, own := range c.server.config.PKI.Certificates() {
		if bytes.HasPrefix(header.SenderCertificate, own.DER) {
			return fmt.Errorf("client presents the server's own certificate: %w", ua.BadSecurityChecksFailed)
		}
	}
	return nil
}

// unseal validates the client's certificate, decrypts, verifies and decodes.
func (o *opening) unseal() error {
	c := o.channel
	if o.policy.Secure() {
		if err := o.identify(); err != nil {
			return err
		}
	}
	var peerKey crypto.PublicKey
	if o.peer != nil {
		peerKey = o.peer.Key
	}
	sequence, requestID, body, err := uasc.OpenAsymmetric(o.header, o.policy, o.own.Key, peerKey, o.chunk)
	if err != nil {
		return err
	}
	if err := c.opener.AcceptSequence(sequence); err != nil {
		return err
	}
	o.requestID = requestID
	d := codec.NewDecoder(body, &c.server.decoding)
	var typeID ua.NodeID
	typeID.DecodeFrom(d)
	if d.Err() == nil && typeID != ua.NumericID(0, id.OpenSecureChannelRequest_Encoding_DefaultBinary) {
		return ua.BadTcpMessageTypeInvalid
	}
	o.request.DecodeFrom(d)
	if d.Err() != nil {
		return ua.BadDecodingError
	}
	return nil
}

// identify finds out who the client is and whether it is trusted.
func (o *opening) identify() error {
	c := o.channel
	peer, err := pki.Intern(o.header.SenderCertificate)
	if err != nil {
		return fmt.Errorf("client certificate: %w", ua.BadSecurityChecksFailed)
	}
	if c.stage == stageLive {
		if !bytes.Equal(peer.DER, c.peer.DER) {
			return fmt.Errorf("renewal with another certificate: %w", ua.BadSecurityChecksFailed)
		}
		// It was trusted before, and is asked about again: a client that was
		// taken off the trust list, or whose certificate was revoked, stays no
		// longer than its token.
		peer = c.peer
	} else if err := o.policy.CheckKey(peer.Key); err != nil {
		return err
	}
	if err := c.server.config.PKI.Validate(o.header.SenderCertificate, pki.Check{
		Use: pki.UseClient, Peer: c.remote, MinKeyBits: o.policy.MinKeyBits, MaxKeyBits: o.policy.MaxKeyBits,
	}); err != nil {
		return err
	}
	o.peer = peer
	return nil
}

// decide checks the request and makes the token.
func (o *opening) decide() error {
	c := o.channel
	o.mode = uasc.Mode(o.request.SecurityMode)
	if err := o.policy.CheckMode(o.mode); err != nil {
		return err
	}
	switch o.request.RequestType {
	case ua.SecurityTokenRequestTypeIssue:
		if c.stage == stageLive {
			return fmt.Errorf("second issue on a channel: %w", ua.BadRequestTypeInvalid)
		}
		if o.policy.Secure() && !c.server.config.Offers(o.policy, o.request.SecurityMode) {
			return ua.BadSecurityModeRejected
		}
		if err := o.begin(); err != nil {
			return err
		}
	case ua.SecurityTokenRequestTypeRenew:
		if c.stage != stageLive {
			return fmt.Errorf("renewal on a fresh connection: %w", ua.BadRequestTypeInvalid)
		}
		if o.mode != uasc.Mode(c.mode) {
			return fmt.Errorf("renewal with another mode: %w", ua.BadSecurityModeRejected)
		}
	default:
		return ua.BadRequestTypeInvalid
	}
	if err := o.policy.CheckNonce(o.request.ClientNonce); err != nil {
		return err
	}
	if c.stage == stageLive && c.opener.Reuses(o.request.ClientNonce) {
		return fmt.Errorf("renewal with the ephemeral key of a token before: %w", ua.BadNonceInvalid)
	}
	o.lifetime = reviseLifetime(o.request.RequestedLifetime, c.server.limits)
	o.share = o.policy.NewShare()
	token, err := uasc.NewToken(uasc.TokenConfig{
		Policy: o.policy, Mode: o.mode, Server: true, ChannelID: c.id, ID: nonZero(&c.server.nextToken),
		Local: o.share, RemoteNonce: o.request.ClientNonce, Created: time.Now(), Lifetime: o.lifetime,
	})
	o.token = token
	return err
}

// begin gives the channel its identity. Only the reader sees it before the
// first token is installed.
func (o *opening) begin() error {
	c := o.channel
	c.policy, c.mode, c.peer, c.own = o.policy, uint8(o.mode), o.peer, o.own
	layout, err := uasc.NewLayout(c.policy, o.mode, c.limits, c.id, true)
	if err != nil {
		return err
	}
	c.layout = layout
	return nil
}

// reviseLifetime bounds the requested lifetime, in milliseconds; 0 asks for the
// server's choice.
func reviseLifetime(ms uint32, l Limits) time.Duration {
	d := time.Duration(ms) * time.Millisecond
	if ms == 0 {
		d = l.MaxTokenLifetime
	}
	return min(max(d, l.MinTokenLifetime), l.MaxTokenLifetime)
}

// answer seals the response with the private key and makes the token known to
// both directions.
func (o *opening) answer() bool {
	c := o.channel
	response := ua.OpenSecureChannelResponse{
		ResponseHeader: ua.ResponseHeader{
			Timestamp: ua.DateTimeOf(time.Now()), RequestHandle: o.request.RequestHeader.RequestHandle,
		},
		SecurityToken: ua.ChannelSecurityToken{
			ChannelID: c.id, TokenID: o.token.ID, CreatedAt: ua.DateTimeOf(o.token.Created),
			RevisedLifetime: uint32(o.lifetime / time.Millisecond),
		},
		ServerNonce: o.share.Nonce,
	}
	body := AppendMessage(nil, &response)

	// The sequence number is taken and the message written under the send
	// state, so that nothing overtakes it; others queue meanwhile.
	c.sendMu.Lock()
	defer c.sendMu.Unlock()
	if err := c.flushLocked(); err != nil {
		c.close(CloseReason{Code: reasonWrite, Err: err})
		return false
	}
	var frame []byte
	if c.stage != stageLive {
		c.sealer.Begin(o.policy)
	}
	sequence := c.sealer.NextSequence()
	err := c.offload(actors.Second, o.policy, func() (err error) {
		var peerKey crypto.PublicKey
		var peerDER []byte
		if o.peer != nil {
			peerKey, peerDER = o.peer.Key, o.peer.DER
		}
		frame, err = uasc.SealAsymmetric(nil, o.policy, o.own.Key, o.own.Chain, peerDER, peerKey, c.id, sequence, o.requestID, body)
		return err
	})
	if err != nil {
		o.audit(err)
		c.failOpen(err)
		return false
	}
	c.opener.Install(o.token)
	if c.stage != stageLive {
		c.sealer.Use(o.token)
		c.inUse = o.token
		c.stage = stageLive
		c.sock.room = readSize
		c.opened.Store(true)
		c.server.stats.opened.Add(1)
	} else {
		c.server.stats.renewed.Add(1)
		c.use(c.inUse)
	}
	c.live(o.lifetime + o.lifetime/tokenTolerance)
	if err := c.write(frame); err != nil {
		c.close(CloseReason{Code: reasonWrite, Err: err})
		return false
	}
	return true
}
