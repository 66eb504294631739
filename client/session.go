package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// session is what the client knows of its session. It belongs to whoever
// connects: Connect at first, then one reconnecting goroutine at a time.
type session struct {
	id          ua.NodeID
	authToken   ua.NodeID
	serverNonce []byte // for the next activation
	serverKey   []byte // for a secret in it, under the ECC policies
	timeout     time.Duration
}

const (
	sessionNonceSize = 32 // Part 4, 5.7.2
)

// createSession creates a session on a channel and checks that the server is
// the one whose certificate was validated (Part 4, 5.7.2).
func (c *Client) createSession(ctx context.Context, ch *channel, t *target) (*session, error) {
	nonce := make([]byte, sessionNonceSize)
	rand.Read(nonce) // never fails
	req := ua.CreateSessionRequest{
		ClientDescription: ua.ApplicationDescription{
			ApplicationURI:  c.cfg.ApplicationURI,
			ProductURI:      "urn:uahive:client",
			ApplicationName: ua.Text(c.cfg.ApplicationName),
			ApplicationType: ua.ApplicationTypeClient,
		},
		EndpointURL:             c.url,
		SessionName:             c.cfg.SessionName,
		ClientNonce:             nonce,
		RequestedSessionTimeout: float64(c.cfg.SessionTimeout.Milliseconds()),
		MaxResponseMessageSize:  c.cfg.MaxMessage,
	}
	if t.sec.local != nil {
		req.ClientCertificate = t.sec.local.Chain
	}
	req.RequestHeader.AdditionalHeader = askForKey(t.sec.policy)
	var resp ua.CreateSessionResponse
	if err := ch.call(ctx, c.cfg.timing(ctx), &req, &resp, nil); err != nil {
		return nil, wrap("CreateSession", err)
	}
	if t.sec.policy.Secure() {
		if !bytes.HasPrefix(resp.ServerCertificate, t.sec.server.DER) {
			return nil, wrap("CreateSession", fmt.Errorf("session has another certificate than the endpoint: %w", ua.BadCertificateInvalid))
		}
		err := t.sec.policy.Verify(t.sec.server.Key, resp.ServerSignature.Signature, t.sec.local.Chain, nonce)
		if err != nil {
			// Some servers sign over the leaf alone where the client sent a chain.
			err = t.sec.policy.Verify(t.sec.server.Key, resp.ServerSignature.Signature, t.sec.local.DER, nonce)
		}
		if err != nil {
			return nil, wrap("CreateSession", fmt.Errorf("server signature: %w", ua.BadApplicationSignatureInvalid))
		}
	}
	if err := checkEndpoints(t.discovered, resp.ServerEndpoints); err != nil {
		if !c.cfg.AllowEndpointMismatch {
			return nil, wrap("CreateSession", err)
		}
		c.cfg.Logger.Warn().Err(err).Str("url", c.url).Msg("AllowEndpointMismatch is set")
	}
	if err := checkSessionNonce(t, resp.ServerNonce); err != nil {
		return nil, wrap("CreateSession", err)
	}
	key, err := keyOf(&resp.ResponseHeader.AdditionalHeader, t.sec.policy, t.sec.server)
	if err != nil {
		return nil, wrap("CreateSession", err)
	}
	s := &session{
		id:          resp.SessionID.Clone(),
		authToken:   resp.AuthenticationToken.Clone(),
		serverNonce: resp.ServerNonce,
		serverKey:   key,
		timeout:     c.cfg.SessionTimeout,
	}
	// The revised value is a Double from the peer: NaN and infinities fail both.
	if ms := resp.RevisedSessionTimeout; ms >= 1 && ms < float64(1<<53) {
		s.timeout = time.Duration(min(ms, 1e12)) * time.Millisecond
	}
	return s, nil
}

// checkSessionNonce refuses nonces that secure nothing. A server without
// security may send what it likes.
func checkSessionNonce(t *target, nonce []byte) error {
	if len(nonce) > maxSessionNonce || t.sec.policy.Secure() && len(nonce) < sessionNonceSize {
		return fmt.Errorf("server nonce of %d bytes: %w", len(nonce), ua.BadNonceInvalid)
	}
	return nil
}

// activate activates a session on a channel, with the configured identity
// (Part 4, 5.7.3). Where the session was active on another channel it moves.
func (c *Client) activate(ctx context.Context, ch *channel, t *target, s *session) error {
	policy, security, err := chooseToken(t.endpoint, c.identity())
	if err != nil {
		return wrap("ActivateSession", err)
	}
	token, proof, err := c.identity().token(ctx, &tokenParams{
		policy:      policy,
		security:    security,
		sec:         t.sec,
		serverNonce: s.serverNonce,
		serverKey:   s.serverKey,
		clear:       c.cfg.AllowClearPassword,
	})
	if err != nil {
		return wrap("ActivateSession", err)
	}
	req := ua.ActivateSessionRequest{
		RequestHeader:      ua.RequestHeader{AdditionalHeader: askForKey(t.sec.policy)},
		LocaleIDs:          c.cfg.Locales,
		UserIdentityToken:  token,
		UserTokenSignature: proof,
	}
	if t.sec.policy.Secure() {
		req.ClientSignature, err = sign(t.sec.policy, t.sec.local.Key, t.sec.server.DER, s.serverNonce)
		if err != nil {
			return wrap("ActivateSession", err)
		}
	}
	ch.authToken = s.authToken
	var resp ua.ActivateSessionResponse
	if err = ch.call(ctx, c.cfg.timing(ctx), &req, &resp, nil); err != nil {
		return wrap("ActivateSession", err)
	}
	if err = checkSessionNonce(t, resp.ServerNonce); err != nil {
		return wrap("ActivateSession", err)
	}
	s.serverNonce = resp.ServerNonce
	s.serverKey, err = keyOf(&resp.ResponseHeader.AdditionalHeader, t.sec.policy, t.sec.server)
	return wrap("ActivateSession", err)
}
