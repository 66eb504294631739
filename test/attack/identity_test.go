package attack

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// sealed returns a token whose password goes as EncryptedSecret.
func sealed(t testing.TB, s *rawpeer.Session, name, password string, nonce []byte) *ua.UserNameIdentityToken {
	t.Helper()
	own := s.Config.Server
	secret, err := uasc.SealRSASecret(uasc.Basic256Sha256, own.Key.Public(), own.DER, []byte(password), nonce)
	if err != nil {
		t.Fatal(err)
	}
	return &ua.UserNameIdentityToken{PolicyID: "username_basic256sha256", UserName: name, Password: secret}
}

// An EncryptedSecret tells no more than the older format: every failure is one
// answer, to the byte and after one time, and a secret is good once.
func TestThreat_U5_EncryptedSecretOracle(t *testing.T) {
	const floor = 30 * time.Millisecond
	x := newTarget(t, onTCP, users, func(c *uahive.Config) { c.Limits.Services.RefusalTime = floor })
	for _, config := range []rawpeer.Config{{Server: x.server.PKI().Certificate()}, x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)} {
		s := rawpeer.Connect(t, x.dial(), config).CreateSession()
		good := sealed(t, s, "op", "secret", s.Nonce)
		cut := func(n int) *ua.UserNameIdentityToken {
			token := *good
			token.Password = good.Password[:n]
			return &token
		}
		flip := func(n int) *ua.UserNameIdentityToken {
			token := *good
			token.Password = bytes.Clone(good.Password)
			token.Password[n] ^= 1
			return &token
		}
		last := len(good.Password) - 1
		bad := map[string]*ua.UserNameIdentityToken{
			"password": sealed(t, s, "op", "wrong", s.Nonce), "user": sealed(t, s, "nobody", "secret", s.Nonce),
			"long": sealed(t, s, "op", strings.Repeat("x", 30_000), s.Nonce), "empty": sealed(t, s, "op", "", s.Nonce),
			"old nonce": sealed(t, s, "op", "secret", make([]byte, 32)), "no nonce": sealed(t, s, "op", "secret", nil),
			"type": flip(2), "encoding": flip(4), "length": flip(5), "policy": flip(14), "certificate": flip(80),
			"key data": flip(last - 200), "payload": flip(last - 40), "signature": flip(last),
			"no signature": cut(last - 31), "no payload": cut(last - 95), "header": cut(40), "type alone": cut(4),
		}
		bad["ecc"] = cut(last + 1)
		bad["ecc"].Password = bytes.Clone(good.Password)
		bad["ecc"].Password[2] = 0x8A // the TypeId of EccEncryptedSecret
		var first []byte
		for what, token := range bad {
			start := time.Now()
			answer, ok := s.Do(s.ActivateRequest(token)).(*ua.ServiceFault)
			if !ok {
				t.Fatalf("%s is accepted", what)
			}
			if d := time.Since(start); d < floor {
				t.Errorf("%s: answered after %v", what, d)
			}
			code := answer.ResponseHeader.ServiceResult
			answer.ResponseHeader.Timestamp, answer.ResponseHeader.RequestHandle = 0, 0
			b := rawpeer.Encode(answer)
			if first == nil {
				first = b
			}
			if code != ua.BadIdentityTokenRejected || !bytes.Equal(b, first) {
				t.Errorf("%s: %v", what, code)
			}
		}
		// What the token calls the algorithm is ignored (Part 4, 7.40.4).
		good.EncryptionAlgorithm = "anything"
		if code := s.Activate(good); code != ua.Good {
			t.Fatalf("the good token: %v", code)
		}
		if code := s.Activate(good); code != ua.BadIdentityTokenRejected {
			t.Errorf("the good token a second time: %v", code)
		}
		if code := s.Result(readState()); code != ua.Good {
			t.Errorf("the session was harmed: %v", code)
		}
	}
	leaksNothing(t, x, "secret", "wrong")
}

// Guesses without end: after a few, nobody looks at them any more; memory stays, and
// neither the canary nor the user who is guessed at notices.
func TestThreat_U6_BruteForce(t *testing.T) {
	var asked atomic.Int64
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Anonymous = true
		c.Authenticate = func(_ context.Context, c uahive.Credentials) (*uahive.User, error) {
			asked.Add(1)
			if c.UserName == "op" && c.Password == "secret" {
				return &uahive.User{}, nil
			}
			return nil, errors.New("wrong user or password")
		}
	})
	x.watch()
	m := measure()
	guesses := scale(400, 10_000)
	var sessions []*rawpeer.Session
	for range 20 {
		sessions = append(sessions, rawpeer.Connect(t, x.dial(), rawpeer.Config{Server: x.server.PKI().Certificate()}).CreateSession())
	}
	refused, waiting := 0, 0
	for range guesses / len(sessions) {
		var started []uint32
		for n, s := range sessions {
			started = append(started, s.Start(s.ActivateRequest(userToken(t, s, "op", fmt.Sprint("guess ", n), s.Nonce))))
		}
		for n, s := range sessions {
			switch code := s.ResultOf(started[n]); code {
			case ua.BadIdentityTokenRejected:
				refused++
			case ua.BadServerTooBusy:
				waiting++
			default:
				t.Fatalf("a guess: %v", code)
			}
		}
	}
	// The workers may have had some of them in hand together.
	if n := asked.Load(); n > 64+20+1 || int(n) != refused || waiting != guesses-refused {
		t.Errorf("%d guesses were looked at, %d refused, %d not looked at, of %d", n, refused, waiting, guesses)
	}
	if n := x.server.Stats().Sessions.LockedOut; int(n) != waiting {
		t.Errorf("%d are counted, not %d", n, waiting)
	}
	start := time.Now()
	s := rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)).CreateSession()
	if code := s.Activate(userToken(t, s, "op", "secret", s.Nonce)); code != ua.Good || time.Since(start) > time.Second {
		t.Errorf("the user, from a client of its own: %v after %v", code, time.Since(start))
	}
	if code := sessions[0].Activate(&ua.AnonymousIdentityToken{PolicyID: "anonymous"}); code != ua.Good {
		t.Errorf("anonymous, from the host that guessed: %v", code)
	}
	m.check(t, 20, 5)
}

// Whatever comes as a user's certificate is refused with a code and nothing else.
func TestThreat_U8_HostileUserCertificates(t *testing.T) {
	user, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:user", ApplicationName: "user"})
	if err != nil {
		t.Fatal(err)
	}
	own := user.Certificate()
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Identities = []uahive.Identity{uahive.UserCertificates}
		c.Limits.Services.BadLogins, c.Limits.Services.RefusalTime = -1, -1
	})
	if err := x.server.PKI().TrustUser(own.DER); err != nil {
		t.Fatal(err)
	}
	for _, config := range []rawpeer.Config{{Server: x.server.PKI().Certificate()}, x.secure(uasc.Aes256Sha256RsaPss, uasc.ModeSign)} {
		s := rawpeer.Connect(t, x.dial(), config).CreateSession()
		policy, id := uasc.Basic256Sha256, "certificate_basic256sha256"
		if config.Policy != nil {
			policy, id = config.Policy, "certificate_aes256_sha256_rsapss"
		}
		proof := func(nonce []byte) ua.SignatureData {
			sig, err := uasc.SignNonce(policy, own.Key, s.Config.Server.Chain, nonce)
			if err != nil {
				t.Fatal(err)
			}
			return sig
		}
		try := func(der []byte, proof ua.SignatureData) ua.StatusCode {
			req := s.ActivateRequest(&ua.X509IdentityToken{PolicyID: id, CertificateData: der})
			req.UserTokenSignature = proof
			return s.ActivateWith(req)
		}
		good := proof(s.Nonce)
		for what, der := range map[string][]byte{
			"null": nil, "empty": {}, "one byte": {0x30}, "garbage": bytes.Repeat([]byte{0xA5}, 1000), "endless": {0x30, 0x84, 0xFF, 0xFF, 0xFF, 0xFF},
			"PEM": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.DER}), "cut": own.DER[:len(own.DER)-1], "huge": bytes.Repeat(own.DER, 100),
		} {
			start := time.Now()
			if code := try(der, good); code != ua.BadIdentityTokenInvalid || time.Since(start) > time.Second {
				t.Errorf("%s: %v after %v", what, code, time.Since(start))
			}
		}
		flipped := good
		flipped.Signature = bytes.Clone(good.Signature)
		flipped.Signature[9] ^= 1
		other := good
		other.Algorithm = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
		for what, sig := range map[string]ua.SignatureData{
			"missing": {}, "algorithm alone": {Algorithm: good.Algorithm}, "flipped": flipped, "another algorithm": other,
			"old nonce": proof(make([]byte, 32)), "the application's": s.ActivateRequest(nil).ClientSignature,
		} {
			if code := try(own.DER, sig); code != ua.BadUserSignatureInvalid {
				t.Errorf("signature %s: %v", what, code)
			}
		}
		if code := try(own.DER, good); code != ua.Good {
			t.Fatalf("the good one: %v", code)
		}
		if code := try(own.DER, good); code != ua.BadUserSignatureInvalid {
			t.Errorf("the good one a second time: %v", code)
		}
		if code := s.Result(readState()); code != ua.Good {
			t.Errorf("the session was harmed: %v", code)
		}
	}
}

// A token counts on the endpoint that offers it, under the id that it has there.
func TestThreat_U9_TokensOfOtherEndpoints(t *testing.T) {
	x := newTarget(t, onTCP, users, func(c *uahive.Config) {
		c.Anonymous = false
		c.Identities = []uahive.Identity{uahive.PlainUserNames, uahive.UserCertificates}
	})
	plain := &ua.UserNameIdentityToken{PolicyID: "username_none", UserName: "op", Password: []byte("secret")}
	for _, config := range []rawpeer.Config{{}, x.secure(uasc.Basic256Sha256, uasc.ModeSign)} {
		s := rawpeer.Connect(t, x.dial(), config).CreateSession()
		for what, token := range map[string]ua.Structure{
			"in the clear":    plain,
			"without an id":   &ua.UserNameIdentityToken{UserName: "op", Password: []byte("secret")},
			"anonymous":       &ua.AnonymousIdentityToken{PolicyID: "anonymous"},
			"no kind":         &ua.UserIdentityToken{PolicyID: "username_none"},
			"issued":          &ua.IssuedIdentityToken{PolicyID: "username_none", TokenData: []byte("secret")},
			"other policy":    &ua.X509IdentityToken{PolicyID: "certificate_aes256_sha256_rsapss"},
			"a name's id":     &ua.X509IdentityToken{PolicyID: "username_none"},
			"a long id":       &ua.X509IdentityToken{PolicyID: strings.Repeat("x", 100_000)},
			"no token at all": &ua.Range{},
		} {
			if code := s.Activate(token); code != ua.BadIdentityTokenInvalid {
				t.Errorf("%v, %s: %v", config.Mode, what, code)
			}
		}
		if code := s.ActivateWith(s.ActivateRequest(nil)); code != ua.BadIdentityTokenRejected {
			t.Errorf("no token: %v", code)
		}
	}
	s := rawpeer.Connect(t, x.dial(), x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)).CreateSession()
	encrypted := userToken(t, s, "op", "secret", s.Nonce)
	encrypted.PolicyID = "username_none"
	if code := s.Activate(encrypted); code != ua.BadIdentityTokenRejected {
		t.Errorf("encrypted where the policy encrypts nothing: %v", code)
	}
	if code := s.Activate(plain); code != ua.Good {
		t.Errorf("in the clear where it is offered: %v", code)
	}
}
