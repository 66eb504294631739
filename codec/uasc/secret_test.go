package uasc

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

func TestSecretRoundTrip(t *testing.T) {
	nonce := pattern(32)
	for _, p := range securePolicies {
		for _, bits := range []int{2048, 3072} {
			t.Run(fmt.Sprintf("%v/%d", p, bits), func(t *testing.T) {
				server := app(t, "b", bits)
				for _, n := range []int{0, 1, 8, 64, 150, 154, 155, 178, 179, 600, MaxSecretLength} {
					enc := must(EncryptSecret(p, server.key.Public(), pattern(n), nonce))(t)
					got, err := DecryptSecret(p, server.key, enc, nonce)
					if err != nil || !bytes.Equal(got, pattern(n)) {
						t.Fatalf("%d bytes: %d back, %v", n, len(got), err)
					}
				}
			})
		}
	}
	_, err := EncryptSecret(Basic256Sha256, app(t, "b", 2048).key.Public(), make([]byte, MaxSecretLength+1), nonce)
	wantCode(t, err, ua.BadIdentityTokenInvalid)
	_, err = EncryptSecret(PolicyNone, nil, []byte("secret"), nonce)
	wantCode(t, err, ua.BadSecurityPolicyRejected)
}

// Whatever is wrong with an encrypted password is one error (threat U5).
func TestThreat_U5_EverySecretFailureIsTheSame(t *testing.T) {
	server, other := app(t, "b", 2048), app(t, "a", 2048)
	nonce := pattern(32)
	lie := func(size uint32, rest []byte) func(p *Policy) []byte {
		return func(p *Policy) []byte {
			return must(p.Encrypt(server.key.Public(), append(binary.LittleEndian.AppendUint32(nil, size), rest...)))(t)
		}
	}
	good := func(p *Policy) []byte {
		return must(EncryptSecret(p, server.key.Public(), []byte("password"), nonce))(t)
	}
	for _, p := range securePolicies {
		for name, build := range map[string]func(p *Policy) []byte{
			"nothing":         func(*Policy) []byte { return nil },
			"one byte":        func(*Policy) []byte { return []byte{1} },
			"garbage":         func(*Policy) []byte { return pattern(256) },
			"not a block":     func(*Policy) []byte { return pattern(255) },
			"too many blocks": func(*Policy) []byte { return pattern((MaxOpenBlocks + 1) * 256) },
			"other's key": func(p *Policy) []byte {
				return must(EncryptSecret(p, other.key.Public(), []byte("password"), nonce))(t)
			},
			"other nonce": func(p *Policy) []byte {
				return must(EncryptSecret(p, server.key.Public(), []byte("password"), pattern(33)[1:]))(t)
			},
			"no nonce":            func(p *Policy) []byte { return must(EncryptSecret(p, server.key.Public(), []byte("password"), nil))(t) },
			"length 0":            lie(0, nonce),
			"length below nonce":  lie(31, nonce),
			"length beyond data":  lie(41, append([]byte("password"), nonce...)),
			"largest length":      lie(1<<32-1, nonce),
			"negative length":     lie(1<<31, nonce),
			"one byte of plain":   func(p *Policy) []byte { return must(p.Encrypt(server.key.Public(), []byte{1}))(t) },
			"secret too long":     lie(MaxSecretLength+1+32, append(pattern(MaxSecretLength+1), nonce...)),
			"flipped first block": func(p *Policy) []byte { b := good(p); b[3] ^= 1; return b },
			"cut":                 func(p *Policy) []byte { return good(p)[:200] },
		} {
			got, err := DecryptSecret(p, server.key, build(p), nonce)
			if err != errSecret || got != nil {
				t.Errorf("%v: %s: %q, %v", p, name, got, err)
			}
		}
		if _, err := DecryptSecret(p, server.key, good(p), nil); err != errSecret {
			t.Errorf("%v: without a nonce of ours: %v", p, err)
		}
	}
	if _, err := DecryptSecret(PolicyNone, server.key, good(Basic256Sha256), nonce); err != errSecret {
		t.Errorf("under None: %v", err)
	}
	if _, err := DecryptSecret(Basic256Sha256, nil, good(Basic256Sha256), nonce); err != errSecret {
		t.Errorf("without a key: %v", err)
	}
	if _, err := DecryptSecret(Aes256Sha256RsaPss, server.key, good(Basic256Sha256), nonce); err != errSecret {
		t.Errorf("under another policy: %v", err)
	}
	wantCode(t, errSecret, ua.BadIdentityTokenRejected)
}

// Some clients fill the last block up.
func TestSecretMayBePadded(t *testing.T) {
	server, nonce := app(t, "b", 2048), pattern(32)
	plain := binary.LittleEndian.AppendUint32(nil, 8+32)
	plain = append(append(plain, "password"...), nonce...)
	plain = append(plain, make([]byte, 100)...)
	enc := must(Basic256Sha256.Encrypt(server.key.Public(), plain))(t)
	got, err := DecryptSecret(Basic256Sha256, server.key, enc, nonce)
	if err != nil || string(got) != "password" {
		t.Fatalf("%q, %v", got, err)
	}
}

// The proofs of CreateSession and ActivateSession (threat U4).
func TestNonceSignature(t *testing.T) {
	a, b := app(t, "a", 2048), app(t, "b", 2048)
	chain := append(bytes.Clone(b.cert), a.cert...)
	nonce := pattern(32)
	for _, p := range securePolicies {
		sig := must(SignNonce(p, a.key, b.cert, nonce))(t)
		verify := func(sig ua.SignatureData, cert, nonce []byte, pub crypto.PublicKey) error {
			return VerifyNonce(p, pub, sig, cert, nonce)
		}
		if err := verify(sig, b.cert, nonce, a.key.Public()); err != nil {
			t.Fatal(err)
		}
		if err := verify(sig, chain, nonce, a.key.Public()); err != nil {
			t.Errorf("%v: over the leaf of a chain: %v", p, err)
		}
		if err := verify(must(SignNonce(p, a.key, chain, nonce))(t), chain, nonce, a.key.Public()); err != nil {
			t.Errorf("%v: over a chain: %v", p, err)
		}
		bad := sig
		bad.Algorithm = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
		flipped := sig
		flipped.Signature = bytes.Clone(sig.Signature)
		flipped.Signature[17] ^= 4
		for name, err := range map[string]error{
			"algorithm": verify(bad, b.cert, nonce, a.key.Public()),
			"flipped":   verify(flipped, b.cert, nonce, a.key.Public()),
			"empty":     verify(ua.SignatureData{Algorithm: sig.Algorithm}, b.cert, nonce, a.key.Public()),
			"missing":   verify(ua.SignatureData{}, b.cert, nonce, a.key.Public()),
			"old nonce": verify(sig, b.cert, pattern(31), a.key.Public()),
			"no nonce":  verify(sig, b.cert, nil, a.key.Public()),
			"cert":      verify(sig, a.cert, nonce, a.key.Public()),
			"key":       verify(sig, b.cert, nonce, b.key.Public()),
			"no key":    verify(sig, b.cert, nonce, nil),
		} {
			if err != errSecurity {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
	}
	if sig, err := SignNonce(PolicyNone, nil, b.cert, nonce); err != nil || sig.Algorithm != "" || sig.Signature != nil {
		t.Errorf("None gives %+v, %v", sig, err)
	}
	if err := VerifyNonce(PolicyNone, nil, ua.SignatureData{}, b.cert, nonce); err != nil {
		t.Error(err)
	}
}

// A PSS signature with another salt length than ours is as good.
func TestPSSSaltLengthIsFree(t *testing.T) {
	a := app(t, "a", 2048)
	sum := Basic256Sha256.sum([][]byte{[]byte("data")})
	for _, salt := range []int{0, 20, 32, rsa.PSSSaltLengthAuto} {
		sig := must(rsa.SignPSS(rand.Reader, a.key.(*rsa.PrivateKey), crypto.SHA256, sum, &rsa.PSSOptions{SaltLength: salt, Hash: crypto.SHA256}))(t)
		if err := Aes256Sha256RsaPss.Verify(a.key.Public(), sig, []byte("data")); err != nil {
			t.Errorf("salt of %d: %v", salt, err)
		}
	}
}

func FuzzDecryptSecret(f *testing.F) {
	server := app(f, "b", 2048)
	nonce := pattern(32)
	f.Add([]byte{40, 0, 0, 0})
	f.Add(append(append([]byte{40, 0, 0, 0}, "password"...), nonce...))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, plain []byte) {
		if len(plain) > MaxOpenBlocks*214 {
			return
		}
		enc := must(Basic256Sha256.Encrypt(server.key.Public(), plain))(t)
		secret, err := DecryptSecret(Basic256Sha256, server.key, enc, nonce)
		if err != nil {
			if err != errSecret {
				t.Fatal(err)
			}
			return
		}
		if !bytes.Equal(plain[4+len(secret):][:32], nonce) {
			t.Fatal("accepted without the nonce")
		}
	}))
}
