package uasc

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

var eccPolicies = []*Policy{ECCNistP256, ECCNistP384}

func TestECCSecretRoundTrip(t *testing.T) {
	nonce := pattern(32)
	for _, p := range eccPolicies {
		client := appFor(t, "a", p)
		server := p.NewShare()
		for _, n := range []int{0, 1, 8, 15, 16, 17, 64, 600, MaxEncryptedSecret} {
			sealed := must(SealECCSecret(p, client.key, client.cert, server.Nonce, pattern(n), nonce))(t)
			if SecretKindOf(sealed) != ECCSecret {
				t.Fatal("not recognized")
			}
			was := bytes.Clone(sealed)
			got, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), sealed, nonce)
			if err != nil || !bytes.Equal(got, pattern(n)) || got == nil {
				t.Fatalf("%v, %d bytes: %d back, %v", p, n, len(got), err)
			}
			if !bytes.Equal(was, sealed) {
				t.Fatal("opening changed the secret")
			}
		}
		if _, err := SealECCSecret(p, client.key, nil, server.Nonce, make([]byte, MaxEncryptedSecret+1), nonce); err != errSecretTooLong {
			t.Error(err)
		}
		_, err := SealECCSecret(p, client.key, nil, make([]byte, p.NonceLength), []byte("x"), nonce)
		wantCode(t, err, ua.BadNonceInvalid)
		// The certificate may be left out: the channel has told whose key it is.
		bare := must(SealECCSecret(p, client.key, nil, server.Nonce, []byte("secret"), nonce))(t)
		if got, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), bare, nonce); err != nil || string(got) != "secret" {
			t.Error(got, err)
		}
	}
	if _, err := SealECCSecret(Basic256Sha256, app(t, "a", 2048).key, nil, nil, nil, nonce); err != errPolicy {
		t.Error(err)
	}
}

// The key that a secret is encrypted with is the known one, and the layout is that
// of Part 4, 7.40.2.5: opened here by hand.
func TestECCSecretKnownKey(t *testing.T) {
	for _, a := range agreements {
		client, server := shareOf(t, a.p, a.client), shareOf(t, a.p, a.server)
		material := golden(t, a.secretMaterial)
		block := must(aes.NewCipher(material[:a.p.encryptionKey]))(t)
		plain := sealPayload([]byte("secret"), pattern(32), a.p.block)
		want := bytes.Clone(plain)
		cipher.NewCBCEncrypter(block, material[a.p.encryptionKey:]).CryptBlocks(want, want)
		got := bytes.Clone(plain)
		if err := a.p.cryptSecret(got, &client, server.Nonce, true, cipher.NewCBCEncrypter); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: sealed %x, %v", a.p, got, err)
		}
		if err := a.p.cryptSecret(got, &server, client.Nonce, false, cipher.NewCBCDecrypter); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%v: opened %x, %v", a.p, got, err)
		}
	}
}

// Whatever is wrong with an ECC secret is one error, each byte of it counts, and
// what was made for another key, nonce, client or policy is refused (threat U5).
func TestEveryECCSecretFailureIsTheSame(t *testing.T) {
	nonce := pattern(32)
	for _, p := range eccPolicies {
		client, other := appFor(t, "a", p), appFor(t, "b", p)
		server, second := p.NewShare(), p.NewShare()
		seal := func() []byte {
			return must(SealECCSecret(p, client.key, client.cert, server.Nonce, []byte("password"), nonce))(t)
		}
		good := seal()
		for i := range good {
			bad := bytes.Clone(good)
			bad[i] ^= 1
			if got, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), bad, nonce); err != errSecret || got != nil {
				t.Fatalf("%v: byte %d: %v", p, i, err)
			}
			if _, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), good[:i], nonce); err != errSecret {
				t.Fatalf("%v: cut at %d: %v", p, i, err)
			}
		}
		// Signed by the right client, and wrong inside.
		resign := func(b []byte) []byte {
			n := p.SignatureSize(client.key.Public())
			body := b[:len(b)-n]
			return append(bytes.Clone(body), must(p.Sign(client.key, body))(t)...)
		}
		at := bytes.Index(good, server.Nonce) - 4 - p.NonceLength
		edit := func(change func(b []byte)) []byte {
			b := bytes.Clone(good)
			change(b)
			return resign(b)
		}
		if got, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), resign(good), nonce); err != nil || string(got) != "password" {
			t.Fatal("a secret that was signed again is not opened", err)
		}
		for name, bad := range map[string][]byte{
			"nothing":            nil,
			"one byte":           {1},
			"sender is no point": edit(func(b []byte) { b[at+p.NonceLength-1] ^= 1 }),
			"sender of zeros":    edit(func(b []byte) { clear(b[at : at+p.NonceLength]) }),
			"sender is receiver": edit(func(b []byte) { copy(b[at:at+p.NonceLength], server.Nonce) }),
			"other receiver":     edit(func(b []byte) { copy(b[at+4+p.NonceLength:], second.Nonce) }),
			"payload":            edit(func(b []byte) { b[len(b)-p.SignatureSize(client.key.Public())-1] ^= 1 }),
			"length":             edit(func(b []byte) { binary.LittleEndian.PutUint32(b[5:], 1<<31) }),
			"another's key":      must(SealECCSecret(p, other.key, client.cert, server.Nonce, []byte("password"), nonce))(t),
			"another's name":     must(SealECCSecret(p, client.key, other.cert, server.Nonce, []byte("password"), nonce))(t),
			"no certificate":     must(SealECCSecret(p, client.key, []byte{1, 2, 3}, server.Nonce, []byte("password"), nonce))(t),
			"other nonce":        must(SealECCSecret(p, client.key, client.cert, server.Nonce, []byte("password"), pattern(33)[1:]))(t),
			"for another key":    must(SealECCSecret(p, client.key, client.cert, second.Nonce, []byte("password"), nonce))(t),
		} {
			if _, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), bad, nonce); err != errSecret {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
		for name, open := range map[string]func() ([]byte, error){
			"no key":    func() ([]byte, error) { return OpenECCSecret(p, nil, client.cert, client.key.Public(), good, nonce) },
			"no nonce":  func() ([]byte, error) { return OpenECCSecret(p, &server, client.cert, client.key.Public(), good, nil) },
			"no sender": func() ([]byte, error) { return OpenECCSecret(p, &server, client.cert, nil, good, nonce) },
			"RSA policy": func() ([]byte, error) {
				return OpenECCSecret(Basic256Sha256, &server, client.cert, client.key.Public(), good, nonce)
			},
			"as an RSA secret": func() ([]byte, error) { return OpenRSASecret(p, client.key, client.cert, good, nonce) },
			"as a legacy one":  func() ([]byte, error) { return DecryptSecret(p, client.key, good, nonce) },
		} {
			if _, err := open(); err != errSecret {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
	}
}

func FuzzOpenECCSecret(f *testing.F) {
	p, nonce := ECCNistP256, pattern(32)
	client, server := appFor(f, "a", p), p.NewShare()
	f.Add(must(SealECCSecret(p, client.key, client.cert, server.Nonce, []byte("password"), nonce))(f), true)
	f.Add(must(SealECCSecret(p, client.key, nil, server.Nonce, nil, nonce))(f), false)
	f.Fuzz(func(t *testing.T, data []byte, sign bool) {
		if n := p.SignatureSize(client.key.Public()); sign && len(data) > n {
			// A client that is what it says, and sends what it likes.
			body := data[:len(data)-n]
			data = append(bytes.Clone(body), must(p.Sign(client.key, body))(t)...)
		}
		secret, err := OpenECCSecret(p, &server, client.cert, client.key.Public(), data, nonce)
		if err != nil && err != errSecret || err == nil && len(secret) > MaxEncryptedSecret {
			t.Fatalf("%d bytes, %v", len(secret), err)
		}
	})
}
