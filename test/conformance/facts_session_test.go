package conformance

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// withUsers admits anonymous users and two named ones.
func withUsers(c *uahive.Config) {
	c.Anonymous = true
	c.Limits.Services.BadLogins = -1 // they try many
	c.Authenticate = func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
		if known := map[string]string{"ann": "secret of ann", "bob": "secret of bob"}; known[c.UserName] != "" && known[c.UserName] == c.Password {
			return &uahive.User{Name: c.UserName}, nil
		}
		return nil, errors.New("not known")
	}
}

// named returns the identity token of a user for the next activation.
func named(t testing.TB, s *rawpeer.Session, user, password string) *ua.UserNameIdentityToken {
	t.Helper()
	policy := s.Config.Policy
	if !policy.Secure() {
		policy = uasc.Basic256Sha256
	}
	certificates, err := uasc.SplitChain(s.Created.ServerCertificate)
	if err != nil {
		t.Fatal(err)
	}
	server, err := x509.ParseCertificate(certificates[0])
	if err != nil {
		t.Fatal(err)
	}
	secret, err := uasc.EncryptSecret(policy, server.PublicKey, []byte(password), s.Nonce)
	if err != nil {
		t.Fatal(err)
	}
	return &ua.UserNameIdentityToken{
		PolicyID: "username_basic256sha256", UserName: user, Password: secret, EncryptionAlgorithm: policy.EncryptionURI,
	}
}

var anonymous = &ua.AnonymousIdentityToken{PolicyID: "anonymous"}

// A request on a session that was never activated is BadSessionNotActivated and
// closes the session (Part 4, 5.7.3.1). Threat U1: services that were answered
// before the user was known.
func TestASessionUsedBeforeActivationIsClosed(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		s := p.CreateSession()
		expect(t, "Read", s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}), ua.BadSessionNotActivated)
		synctest.Wait()
		expect(t, "ActivateSession", s.Activate(anonymous), ua.BadSessionIDInvalid)
		if n := w.Stats().Sessions.Sessions; n != 0 {
			t.Errorf("%d sessions are left", n)
		}
		// The channel and its other sessions are not touched.
		readValue(p.Session(), serverNode)
	})
}

// The server nonce is fresh on each CreateSession and ActivateSession and has 32
// bytes at least, also without security (Part 4, 5.7.2.2 and 5.7.3.2).
func TestServerNoncesAreFresh(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		for _, config := range []rawpeer.Config{{}, w.secure(own, uasc.ModeSign)} {
			seen := make(map[string]bool)
			note := func(nonce []byte) {
				t.Helper()
				if len(nonce) < 32 {
					t.Errorf("a nonce of %d bytes", len(nonce))
				}
				if seen[string(nonce)] {
					t.Error("a nonce came twice")
				}
				seen[string(nonce)] = true
			}
			p := w.dialWith(config)
			for range 3 {
				s := p.CreateSession()
				note(s.Nonce)
				for range 3 {
					expect(t, "activation", s.Activate(anonymous), ua.Good)
					note(s.Nonce)
				}
			}
		}
	})
}

// A signature over an old nonce is refused: nonces are used once (Part 4,
// 5.7.3.1). Threat U4.
func TestThreat_U4_ClientSignatures(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		for _, mode := range []uasc.Mode{uasc.ModeSign, uasc.ModeSignAndEncrypt} {
			s := w.dialWith(w.secure(own, mode)).CreateSession()
			first := s.ActivateRequest(anonymous)
			for what, bend := range map[string]func(sig *ua.SignatureData){
				"missing":   func(sig *ua.SignatureData) { *sig = ua.SignatureData{} },
				"empty":     func(sig *ua.SignatureData) { sig.Signature = []byte{} },
				"tampered":  func(sig *ua.SignatureData) { sig.Signature[0] ^= 1 },
				"too short": func(sig *ua.SignatureData) { sig.Signature = sig.Signature[1:] },
				"too long":  func(sig *ua.SignatureData) { sig.Signature = append(sig.Signature, 0) },
				"algorithm": func(sig *ua.SignatureData) { sig.Algorithm = uasc.Aes256Sha256RsaPss.SignatureURI },
			} {
				req := s.ActivateRequest(anonymous)
				req.ClientSignature.Signature = bytes.Clone(req.ClientSignature.Signature)
				bend(&req.ClientSignature)
				expect(t, what, s.ActivateWith(req), ua.BadApplicationSignatureInvalid)
			}
			// The failures used up neither the session nor its nonce.
			expect(t, "the first good one", s.ActivateWith(first), ua.Good)
			replay := *first
			replay.RequestHeader = ua.RequestHeader{}
			expect(t, "a replay", s.ActivateWith(&replay), ua.BadApplicationSignatureInvalid)
			readValue(s, serverNode)
		}
	})
}

// A session moves to another channel of the same client and the same user
// (Part 4, 5.7.3.1). What fails changes nothing on the session. Threat U3.
func TestThreat_U3_MovingASession(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own, stranger := clientPKI(t, clientKey()), clientPKI(t, strangerKey())
		s := w.dialWith(w.secure(own, uasc.ModeSignAndEncrypt)).CreateSession()

		before := s.On(w.dialWith(w.secure(own, uasc.ModeSignAndEncrypt)))
		expect(t, "the first activation on another channel", before.Activate(named(t, s, "ann", "secret of ann")), ua.BadSecureChannelIDInvalid)
		expect(t, "activation", s.Activate(named(t, s, "ann", "secret of ann")), ua.Good)

		aes := w.secure(own, uasc.ModeSignAndEncrypt)
		aes.Policy = uasc.Aes128Sha256RsaOaep
		for what, config := range map[string]rawpeer.Config{
			"another certificate": w.secure(stranger, uasc.ModeSignAndEncrypt),
			"another mode":        w.secure(own, uasc.ModeSign),
			"another policy":      aes,
			"no security":         {},
		} {
			moved := s.On(w.dialWith(config))
			expect(t, what, moved.Activate(named(t, moved, "ann", "secret of ann")), ua.BadSecurityChecksFailed)
			readValue(s, serverNode)
		}
		p := w.dialWith(w.secure(own, uasc.ModeSignAndEncrypt))
		moved := s.On(p)
		expect(t, "another user", moved.Activate(named(t, moved, "bob", "secret of bob")), ua.BadIdentityChangeNotSupported)
		expect(t, "anonymous", moved.Activate(anonymous), ua.BadIdentityChangeNotSupported)
		if code := moved.Activate(named(t, moved, "ann", "wrong")); !code.IsBad() {
			t.Errorf("a wrong password: %v", code)
		}
		expect(t, "using it before it has moved", moved.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}), ua.BadSecureChannelIDInvalid)
		readValue(s, serverNode) // where it still is

		expect(t, "the same user", moved.Activate(named(t, moved, "ann", "secret of ann")), ua.Good)
		readValue(moved, serverNode)
		expect(t, "the old channel", s.Result(&ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(serverNode)}}), ua.BadSecureChannelIDInvalid)
		// On the channel that it has, the user may change.
		expect(t, "another user on the same channel", moved.Activate(named(t, moved, "bob", "secret of bob")), ua.Good)
		readValue(moved, serverNode)
	}, withUsers)
}

// A session outlives its channel, with its subscriptions, until it times out
// (Part 4, 5.6.2 and 5.7.1).
func TestASessionOutlivesItsChannel(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		w.variable("v", int32(1))
		s := w.dialWith(w.secure(own, uasc.ModeSign)).Session()
		sub := subscribe(s, 100)
		watch(t, s, sub, monitor(w.node("v"), 1))
		publish(s)
		s.Start(&ua.PublishRequest{}) // lost with the channel
		synctest.Wait()
		s.Conn.Close()
		time.Sleep(time.Minute)
		writer := w.session()
		expect(t, "write", writeValue(t, writer, w.node("v"), int32(2)), ua.Good)

		back := s.On(w.dialWith(w.secure(own, uasc.ModeSign)))
		expect(t, "activation on a new channel", back.Activate(anonymous), ua.Good)
		resp := publish(back)
		for len(changes(t, resp)) == 0 {
			resp = publish(back)
		}
		if got := values(changes(t, resp)); resp.SubscriptionID != sub || got[0] != "2" {
			t.Errorf("reported %v of %d", got, resp.SubscriptionID)
		}
	})
}

// After the policy of a token was recognised, every failure is one and the same,
// so that nothing can be learned from it (threat U5: servers that told wrong
// passwords from broken ciphertexts decrypted for the attacker).
func TestEveryRefusedPasswordLooksTheSame(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own := clientPKI(t, clientKey())
		for _, config := range []rawpeer.Config{{}, w.secure(own, uasc.ModeSign)} {
			s := w.dialWith(config).CreateSession()
			old := named(t, s, "ann", "secret of ann")
			expect(t, "a good password", s.Activate(old), ua.Good)
			good := func() *ua.UserNameIdentityToken { return named(t, s, "ann", "secret of ann") }
			for what, token := range map[string]*ua.UserNameIdentityToken{
				"wrong password": named(t, s, "ann", "wrong"),
				"unknown user":   named(t, s, "nobody", "secret of ann"),
				"empty password": named(t, s, "ann", ""),
				"replayed":       old,
				"garbage":        {PolicyID: good().PolicyID, UserName: "ann", Password: bytes.Repeat([]byte{0x55}, 256), EncryptionAlgorithm: good().EncryptionAlgorithm},
				"short":          {PolicyID: good().PolicyID, UserName: "ann", Password: good().Password[:255], EncryptionAlgorithm: good().EncryptionAlgorithm},
				"no ciphertext":  {PolicyID: good().PolicyID, UserName: "ann", EncryptionAlgorithm: good().EncryptionAlgorithm},
				"in the clear":   {PolicyID: good().PolicyID, UserName: "ann", Password: []byte("secret of ann")},
				"old algorithm":  {PolicyID: good().PolicyID, UserName: "ann", Password: good().Password, EncryptionAlgorithm: "http://www.w3.org/2001/04/xmlenc#rsa-1_5"},
			} {
				expect(t, what, s.Activate(token), ua.BadIdentityTokenRejected)
			}
			readValue(s, serverNode) // the session is as it was
			expect(t, "a good password again", s.Activate(good()), ua.Good)
		}
	}, withUsers)
}

// Tokens of kinds or policies that the endpoint does not offer are
// BadIdentityTokenInvalid, and no token is Anonymous where that is offered
// (Part 4, 5.7.3.3). Threat U9.
func TestIdentityTokensThatAreNotOffered(t *testing.T) {
	rows := map[string]ua.Structure{
		"unknown policy id":    &ua.AnonymousIdentityToken{PolicyID: "something"},
		"policy id of another": &ua.AnonymousIdentityToken{PolicyID: "username_basic256sha256"},
		"user name, wrong id":  &ua.UserNameIdentityToken{PolicyID: "anonymous", UserName: "ann"},
		"empty user name":      &ua.UserNameIdentityToken{PolicyID: "username_basic256sha256"},
		"issued token":         &ua.IssuedIdentityToken{PolicyID: "issued"},
		"certificate":          &ua.X509IdentityToken{PolicyID: "x509", CertificateData: []byte{0x30, 0}},
		"no identity token":    &ua.ReadValueID{},
	}
	inTime(t, func(t *testing.T, w *world) {
		s := w.dial().CreateSession()
		for what, token := range rows {
			expect(t, what, s.Activate(token), ua.BadIdentityTokenInvalid)
		}
		req := s.ActivateRequest(nil)
		req.UserIdentityToken = ua.ExtensionObject{TypeID: ua.NumericID(9, 9), Encoding: ua.EncodingBinary, Raw: []byte{1}}
		expect(t, "an unknown structure", s.ActivateWith(req), ua.BadIdentityTokenInvalid)
		expect(t, "a null token", s.ActivateWith(s.ActivateRequest(nil)), ua.Good)
	}, withUsers)
	inTime(t, func(t *testing.T, w *world) {
		s := w.dial().CreateSession()
		expect(t, "Anonymous", s.Activate(anonymous), ua.BadIdentityTokenInvalid)
		expect(t, "a null token", s.ActivateWith(s.ActivateRequest(nil)), ua.BadIdentityTokenRejected)
	}, withUsers, func(c *uahive.Config) { c.Anonymous = false })
}

// CreateSession refuses what is not the client of the channel (Part 4, 5.7.2).
// Threat S12: nonces that are short or missing.
func TestCreateSessionChecks(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		own, stranger := clientPKI(t, clientKey()), clientPKI(t, strangerKey())
		p := w.dialWith(w.secure(own, uasc.ModeSign))
		s := &rawpeer.Session{Peer: p}
		for what, row := range map[string]struct {
			bend func(r *ua.CreateSessionRequest)
			want ua.StatusCode
		}{
			"no nonce":            {func(r *ua.CreateSessionRequest) { r.ClientNonce = nil }, ua.BadNonceInvalid},
			"short nonce":         {func(r *ua.CreateSessionRequest) { r.ClientNonce = make([]byte, 31) }, ua.BadNonceInvalid},
			"no certificate":      {func(r *ua.CreateSessionRequest) { r.ClientCertificate = nil }, ua.BadCertificateInvalid},
			"garbage certificate": {func(r *ua.CreateSessionRequest) { r.ClientCertificate = []byte{1, 2, 3} }, ua.BadCertificateInvalid},
			"another certificate": {func(r *ua.CreateSessionRequest) { r.ClientCertificate = stranger.Certificate().Chain }, ua.BadCertificateInvalid},
			"another application": {func(r *ua.CreateSessionRequest) { r.ClientDescription.ApplicationURI = "urn:other" }, ua.BadCertificateURIInvalid},
		} {
			req := p.CreateRequest()
			row.bend(req)
			expect(t, what, s.Result(req), row.want)
		}
		// The server proves who it is by a signature over the client's nonce.
		created := p.CreateSession().Created
		err := uasc.VerifyNonce(p.Config.Policy, p.Config.Server.Key.Public(), created.ServerSignature,
			own.Certificate().Chain, p.CreateRequest().ClientNonce)
		if err != nil {
			t.Errorf("server signature: %v", err)
		}
	})
}

// The requested session time-out is revised, whatever it is (Part 4, 5.7.2.2).
// Threat D7: a client that asked for an endless one stopped a server.
func TestSessionTimeoutsAreRevised(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		for _, ms := range doubles {
			req := p.CreateRequest()
			req.RequestedSessionTimeout = ms
			if got := p.CreateSessionWith(req).Created.RevisedSessionTimeout; !(got >= 10_000 && got <= 3_600_000) {
				t.Errorf("%v became %v", ms, got)
			}
		}
	})
}
