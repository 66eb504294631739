package uasc

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"testing"
)

const pSHA1Vector = `
	5d55432bdfe9b93a813acc932adf0f297815d1c83166a983ea042d410665dfa19268d997
	74fd6f3fc5433f0465e765c49b8590d51e1e9988be2167fd8456dcb37305f0284b8b5879`

// P_SHA1 is P_hash of RFC 5246, 5 with SHA-1; the vector is what Python's hmac
// makes of that definition.
func TestPSHA1KnownVector(t *testing.T) {
	out := make([]byte, 72)
	pHash(crypto.SHA1, out, []byte("secret"), []byte("seed"))
	want := golden(t, pSHA1Vector)
	if !bytes.Equal(out, want) {
		t.Fatalf("got %x", out)
	}
}

// The padding of rsa-1_5 gives nothing away: a block with wrong padding, or with a
// text that does not fill it, is opened to random bytes of the same length, without
// an error, and an OPN with such a block fails as any forgery does (threat S15).
func TestThreat_S15_RSA15PaddingIsNoOracle(t *testing.T) {
	p := Basic128Rsa15
	a, b := app(t, "a", 2048), app(t, "b", 2048)
	full := p.plainBlock(256)
	good := pattern(full)
	block := must(p.Encrypt(b.key.Public(), good))(t)
	if plain := must(p.Decrypt(b.key, block))(t); !bytes.Equal(plain, good) {
		t.Fatal("a good block is not opened")
	}
	public := b.key.Public().(*rsa.PublicKey)
	//lint:ignore SA1019 the withdrawn policy
	short := must(rsa.EncryptPKCS1v15(rand.Reader, public, good[:full-1]))(t)
	oaep := must(rsa.EncryptOAEP(crypto.SHA1.New(), rand.Reader, public, good[:100], nil))(t)
	random := pattern(256)
	random[0] = 0
	for name, cipher := range map[string][]byte{"short text": short, "other padding": oaep, "random": random} {
		first, ok := p.decrypt(b.key, cipher)
		second, again := p.decrypt(b.key, cipher)
		if !ok || !again || len(first) != full || len(second) != full {
			t.Errorf("%s: told apart: %v, %d bytes", name, ok, len(first))
		}
		if bytes.Equal(first, second) {
			t.Errorf("%s: the same twice: an asker could tell", name)
		}
	}
	// As a part of an OPN.
	o := opn{p: p, from: a, to: b}
	frame := o.seal(t, pattern(100))
	h := must(ParseOpen(frame))(t)
	for name, cipher := range map[string][]byte{"short text": short, "other padding": oaep, "random": random, "good padding": block} {
		for at := h.start; at < len(frame); at += 256 {
			bad := bytes.Clone(frame)
			copy(bad[at:], cipher)
			if _, _, body, err := o.open(bad); err != errSecurity || body != nil {
				t.Errorf("%s at %d: %v", name, at, err)
			}
		}
	}
}

// A secret under rsa-1_5 would have to be opened by its padding, so no server does;
// a client may send one to an old server.
func TestRSA15SecretsAreNotOpened(t *testing.T) {
	p, a := Basic128Rsa15, app(t, "a", 2048)
	enc := must(EncryptSecret(p, a.key.Public(), []byte("secret"), pattern(32)))(t)
	if _, err := DecryptSecret(p, a.key, enc, pattern(32)); err != errSecret {
		t.Error(err)
	}
	if _, err := SealRSASecret(p, a.key.Public(), a.cert, []byte("secret"), pattern(32)); err == nil {
		t.Error("sealed")
	}
}

// Basic256 uses the formats of the other policies for secrets.
func TestBasic256ProtectsSecrets(t *testing.T) {
	p, a, nonce := Basic256, app(t, "a", 2048), pattern(32)
	enc := must(EncryptSecret(p, a.key.Public(), []byte("secret"), nonce))(t)
	if got, err := DecryptSecret(p, a.key, enc, nonce); err != nil || string(got) != "secret" {
		t.Error(got, err)
	}
	enc = must(SealRSASecret(p, a.key.Public(), a.cert, []byte("secret"), nonce))(t)
	if got, err := OpenRSASecret(p, a.key, a.cert, enc, nonce); err != nil || string(got) != "secret" {
		t.Error(got, err)
	}
}

// Withdrawn policies say so, and nothing else does.
func TestWithdrawnPoliciesAreMarked(t *testing.T) {
	for _, p := range Policies() {
		if want := p == Basic256 || p == Basic128Rsa15; p.Deprecated != want {
			t.Errorf("%v: deprecated %v", p, p.Deprecated)
		}
	}
}
