package client

import (
	"bytes"
	"crypto"
	"fmt"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
)

// renewal is an OpenSecureChannel request whose answer is awaited.
type renewal struct {
	requestID uint32
	share     uasc.Share
	body      []byte
	deadline  time.Time
	sent      bool // the writer has taken it
}

// newRenewal prepares an OpenSecureChannel request (Part 4, 5.6.2).
func (ch *channel) newRenewal(kind ua.SecurityTokenRequestType, requestID uint32) *renewal {
	now := time.Now()
	r := &renewal{
		requestID: requestID,
		share:     ch.sec.policy.NewShare(),
		deadline:  now.Add(ch.cfg.ConnectTimeout),
	}
	req := ua.OpenSecureChannelRequest{
		RequestHeader: ua.RequestHeader{
			Timestamp:     ua.DateTimeOf(now),
			RequestHandle: requestID,
			TimeoutHint:   milliseconds(ch.cfg.ConnectTimeout),
		},
		RequestType:       kind,
		SecurityMode:      ua.MessageSecurityMode(ch.sec.mode),
		ClientNonce:       r.share.Nonce,
		RequestedLifetime: milliseconds(ch.cfg.TokenLifetime),
	}
	r.body = req.AppendTo(req.EncodingID().AppendTo(nil))
	return r
}

// sealOpen appends an OPN frame. The caller is the writer.
func (ch *channel) sealOpen(dst []byte, requestID uint32, body []byte) ([]byte, error) {
	var (
		key    crypto.Signer
		chain  []byte
		remote []byte
		pub    crypto.PublicKey
	)
	if ch.sec.policy.Secure() {
		key, chain = ch.sec.local.Key, ch.sec.local.Chain
		remote, pub = ch.sec.server.DER, ch.sec.server.Key
	}
	return uasc.SealAsymmetric(dst, ch.sec.policy, key, chain, remote, pub,
		ch.id, ch.sealer.NextSequence(), requestID, body)
}

// openFirst opens the channel, before there is a reader or another writer.
func (ch *channel) openFirst() error {
	ch.sealer.Begin(ch.sec.policy)
	r := ch.newRenewal(ua.SecurityTokenRequestTypeIssue, 1)
	frame, err := ch.sealOpen(nil, r.requestID, r.body)
	if err != nil {
		return err
	}
	if err = ch.wire.write(frame, ch.cfg.WriteTimeout); err != nil {
		return err
	}
	frame, err = ch.expect(uasc.TypeOpen, ch.limits.ReceiveBuffer)
	if err != nil {
		return err
	}
	token, seq, err := ch.acceptOpen(frame, r)
	if err != nil {
		return err
	}
	ch.id = token.ChannelID
	ch.layout, err = uasc.NewLayout(ch.sec.policy, ch.sec.mode, ch.limits, ch.id, false)
	if err != nil {
		return err
	}
	ch.opener = uasc.NewOpener(uasc.OpenerConfig{
		Limits: ch.limits, Policy: ch.sec.policy,
	})
	if err = ch.opener.AcceptSequence(seq); err != nil {
		return err
	}
	ch.opener.Install(token)
	ch.sealer.Use(token)
	ch.renewAt = renewTime(token)
	return nil
}

// acceptOpen checks an OPN response and makes the token that it brings.
func (ch *channel) acceptOpen(frame []byte, r *renewal) (*uasc.Token, uint32, error) {
	h, err := uasc.ParseOpen(frame)
	if err != nil {
		return nil, 0, err
	}
	if h.PolicyURI != ch.sec.policy.URI {
		return nil, 0, fmt.Errorf("server answers with another security policy: %w", ua.BadSecurityPolicyRejected)
	}
	if ch.id != 0 && h.ChannelID != ch.id {
		return nil, 0, fmt.Errorf("server answers for another channel: %w", ua.BadTcpSecureChannelUnknown)
	}
	var (
		key crypto.Signer
		pub crypto.PublicKey
	)
	if ch.sec.policy.Secure() {
		// The server must be the one whose certificate was validated; only the
		// leaf matters, some peers add the chain and others do not.
		if !bytes.HasPrefix(h.SenderCertificate, ch.sec.server.DER) {
			return nil, 0, fmt.Errorf("server answers with another certificate: %w", ua.BadCertificateInvalid)
		}
		if !bytes.Equal(h.ReceiverThumbprint, ch.sec.local.Thumbprint[:]) {
			return nil, 0, fmt.Errorf("server answers to another certificate: %w", ua.BadCertificateInvalid)
		}
		key, pub = ch.sec.local.Key, ch.sec.server.Key
	}
	seq, requestID, body, err := uasc.OpenAsymmetric(h, ch.sec.policy, key, pub, frame)
	if err != nil {
		return nil, 0, err
	}
	if requestID != r.requestID {
		return nil, 0, fmt.Errorf("server answers a request that was not sent: %w", ua.BadSecurityChecksFailed)
	}
	var resp ua.OpenSecureChannelResponse
	if err = decodeMessage(body, &resp); err != nil {
		return nil, 0, err
	}
	if err = ch.sec.policy.CheckNonce(resp.ServerNonce); err != nil {
		return nil, 0, err
	}
	if ch.opener != nil && ch.opener.Reuses(resp.ServerNonce) {
		return nil, 0, fmt.Errorf("server renews with the ephemeral key of a token before: %w", ua.BadNonceInvalid)
	}
	// A life of 0 would mean to renew without end.
	lifetime := time.Duration(resp.SecurityToken.RevisedLifetime) * time.Millisecond
	if lifetime <= 0 {
		lifetime = ch.cfg.TokenLifetime
	}
	token, err := uasc.NewToken(uasc.TokenConfig{
		Policy:      ch.sec.policy,
		Mode:        ch.sec.mode,
		ChannelID:   resp.SecurityToken.ChannelID,
		ID:          resp.SecurityToken.TokenID,
		Local:       r.share,
		RemoteNonce: resp.ServerNonce,
		Created:     time.Now(),
		Lifetime:    lifetime,
	})
	return token, seq, err
}

// renewTime is when to ask for the next token: at 75 % of the life of this
// one (Part 4, 5.6.2.1).
func renewTime(t *uasc.Token) time.Time {
	return t.Created.Add(max(t.Lifetime/4*3, shortestRenewal))
}

// renew asks for a new token. The old one stays in use until the answer is
// there, and is accepted from the server until the server uses the new one.
func (ch *channel) renew() {
	ch.mu.Lock()
	if ch.failure != nil || ch.renewal != nil {
		ch.mu.Unlock()
		return
	}
	ch.renewal = ch.newRenewal(ua.SecurityTokenRequestTypeRenew, ch.sealerRequest())
	lead := ch.takeLead()
	ch.mu.Unlock()
	if lead {
		ch.writeQueue()
	}
}

// sealerRequest returns an id for an OPN request. The ids of other requests
// have an upper half, see slots.
func (ch *channel) sealerRequest() uint32 {
	ch.renewals++
	return ch.renewals&0xffff + 1
}

// renewed handles an OPN that came while the channel was in use.
func (ch *channel) renewed(frame []byte) error {
	ch.mu.Lock()
	r := ch.renewal
	ch.mu.Unlock()
	if r == nil || !r.sent {
		return fmt.Errorf("server opens a channel unasked: %w", ua.BadTcpMessageTypeInvalid)
	}
	token, seq, err := ch.acceptOpen(frame, r)
	if err != nil {
		return err
	}
	if err = ch.opener.AcceptSequence(seq); err != nil {
		return err
	}
	ch.opener.Install(token)
	ch.mu.Lock()
	ch.renewal, ch.token, ch.renewAt = nil, token, renewTime(token)
	next := ch.renewAt
	ch.mu.Unlock()
	if ch.arm != nil {
		// The housekeeper looks again when this answer would have been late, which can
		// be too late for the next renewal.
		ch.arm(next.UnixNano())
	}
	ch.stats.renewals.Add(1)
	return nil
}

// decodeMessage decodes a whole message, type id included, into resp. A
// ServiceFault and a Bad ServiceResult are errors.
func decodeMessage(body []byte, resp ua.Structure) error {
	var d codec.Decoder
	d.Reset(body, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(&d)
	if d.Err() != nil {
		return d.Err()
	}
	rest := body[d.Pos():]
	status, ok := responseStatus(rest)
	switch {
	case !ok:
		return codec.ErrDecoding
	case typeID.Namespace() == 0 && typeID.Numeric() == id.ServiceFault_Encoding_DefaultBinary:
		return fault(status)
	case status.IsBad():
		return status
	case typeID != resp.EncodingID():
		return fmt.Errorf("unexpected message %v: %w", typeID, ua.BadUnknownResponse)
	}
	resp.DecodeFrom(&d)
	return d.Err()
}

// fault is the status of a ServiceFault, which is Bad by its nature.
func fault(s ua.StatusCode) ua.StatusCode {
	if s.IsBad() {
		return s
	}
	return ua.BadUnexpectedError
}

func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), 1<<32-1))
}
