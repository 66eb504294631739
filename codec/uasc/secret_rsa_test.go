package uasc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/internal/fuzzguard"
)

func TestRSASecretRoundTrip(t *testing.T) {
	nonce := pattern(32)
	for _, p := range securePolicies {
		for _, bits := range []int{2048, 3072} {
			t.Run(fmt.Sprintf("%v/%d", p, bits), func(t *testing.T) {
				server := app(t, "b", bits)
				for _, n := range []int{0, 1, 7, 8, 9, 64, 65, 1000, MaxEncryptedSecret} {
					sealed := must(SealRSASecret(p, server.key.Public(), server.cert, pattern(n), nonce))(t)
					if SecretKindOf(sealed) != RSASecret {
						t.Fatal("not recognised")
					}
					got, err := OpenRSASecret(p, server.key, server.cert, sealed, nonce)
					if err != nil || !bytes.Equal(got, pattern(n)) {
						t.Fatalf("%d bytes: %d back, %v", n, len(got), err)
					}
				}
			})
		}
	}
	_, err := SealRSASecret(Basic256Sha256, app(t, "b", 2048).key.Public(), nil, make([]byte, MaxEncryptedSecret+1), nonce)
	wantCode(t, err, ua.BadIdentityTokenInvalid)
	_, err = SealRSASecret(PolicyNone, nil, nil, []byte("secret"), nonce)
	wantCode(t, err, ua.BadSecurityPolicyRejected)
}

// The layout is that of Part 4, tables 183 and 185, field by field.
func TestRSASecretLayout(t *testing.T) {
	server, nonce := app(t, "b", 2048), pattern(32)
	sealed := must(SealRSASecret(Basic256Sha256, server.key.Public(), server.cert, []byte("password"), nonce))(t)
	var d codec.Decoder
	d.Reset(sealed, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(&d)
	if typeID != ua.NumericID(0, id.RsaEncryptedSecret) || d.Uint8() != 1 {
		t.Fatalf("type %v", typeID)
	}
	if n := d.Uint32(); int(n) != d.Remaining() {
		t.Errorf("length %d of %d", n, d.Remaining())
	}
	if uri := d.String(); uri != Basic256Sha256.URI {
		t.Errorf("policy %q", uri)
	}
	if thumbprint := d.Bytes(); len(thumbprint) != 20 {
		t.Errorf("certificate of %d bytes", len(thumbprint))
	}
	d.Int64()
	if n := d.Uint16(); n != 256 {
		t.Errorf("%d bytes of KeyData", n)
	}
	// nonce 36, secret 12, padding size 2: 50, so 14 of padding; with 8 of secret that is more than a block
	if rest := d.Remaining() - 256; rest != 64+32 {
		t.Errorf("%d bytes of payload and signature", rest)
	}
	// A secret shorter than a block with its padding gets a block more (Part 6, 6.8.3).
	if got := len(sealPayload([]byte("pass"), nonce, 16)); got != 64 {
		t.Errorf("a short secret: %d bytes", got)
	}
	if got := len(sealPayload(pattern(6), nonce, 16)); got != 64 {
		t.Errorf("a secret that fills a block: %d bytes", got)
	}
}

// Whatever is wrong with an EncryptedSecret is one error, and every byte of it
// counts (threat U5).
func TestThreat_U5_EveryRSASecretFailureIsTheSame(t *testing.T) {
	server, other := app(t, "b", 2048), app(t, "a", 2048)
	nonce := pattern(32)
	for _, p := range securePolicies {
		good := must(SealRSASecret(p, server.key.Public(), server.cert, []byte("password"), nonce))(t)
		seal := func(cert, secret, nonce []byte) []byte {
			return must(SealRSASecret(p, server.key.Public(), cert, secret, nonce))(t)
		}
		length := func(n uint32) []byte {
			b := bytes.Clone(good)
			binary.LittleEndian.PutUint32(b[5:], n)
			return b
		}
		bad := map[string][]byte{
			"nothing": nil, "type alone": good[:4], "cut": good[:len(good)-1], "longer": append(bytes.Clone(good), 0),
			"without payload": good[:len(good)-64-32],
			"other's key":     must(SealRSASecret(p, other.key.Public(), server.cert, []byte("password"), nonce))(t),
			"certificate":     seal(other.cert, []byte("password"), nonce),
			"old nonce":       seal(server.cert, []byte("password"), pattern(33)[1:]),
			"no nonce":        seal(server.cert, []byte("password"), nil),
			"length 0":        length(0), "length max": length(1<<32 - 1), "length -1": length(uint32(len(good) - 10)),
			"legacy": must(EncryptSecret(p, server.key.Public(), []byte("password"), nonce))(t),
			"huge":   append(bytes.Clone(good), make([]byte, MaxEncryptedSecret+8<<10)...),
		}
		for i := range good {
			if i > 20 && i < len(good)-150 && i%16 != 0 {
				continue // each costs an RSA operation
			}
			b := bytes.Clone(good)
			b[i] ^= 1
			bad[fmt.Sprint("bit in byte ", i)] = b
		}
		for what, data := range bad {
			if got, err := OpenRSASecret(p, server.key, server.cert, data, nonce); err != errSecret || got != nil {
				t.Errorf("%v: %s: %q, %v", p, what, got, err)
			}
		}
		if _, err := OpenRSASecret(p, server.key, server.cert, good, nil); err != errSecret {
			t.Errorf("%v: without a nonce of ours: %v", p, err)
		}
		if _, err := OpenRSASecret(p, nil, server.cert, good, nonce); err != errSecret {
			t.Errorf("%v: without a key: %v", p, err)
		}
		if _, err := OpenRSASecret(PolicyNone, server.key, server.cert, good, nonce); err != errSecret {
			t.Errorf("%v: under None: %v", p, err)
		}
	}
}

// The payload is behind a signature, but the keys of that are the sender's.
func TestSecretPayloadsThatLie(t *testing.T) {
	nonce := pattern(32)
	good := sealPayload([]byte("password"), nonce, 16)
	if got, err := openPayload(good, nonce); err != nil || string(got) != "password" {
		t.Fatalf("%q %v", got, err)
	}
	edit := func(f func(b []byte) []byte) []byte { return f(bytes.Clone(good)) }
	for what, payload := range map[string][]byte{
		"nothing": nil, "one byte": {0}, "padding only": {0, 0},
		"padding size max":   edit(func(b []byte) []byte { b[len(b)-1], b[len(b)-2] = 0xFF, 0xFF; return b }),
		"padding size less":  edit(func(b []byte) []byte { b[len(b)-2]--; return b }),
		"padding size more":  edit(func(b []byte) []byte { b[len(b)-2]++; return b }),
		"padding byte":       edit(func(b []byte) []byte { b[len(b)-5] ^= 1; return b }),
		"nonce length":       edit(func(b []byte) []byte { b[0] = 31; return b }),
		"nonce null":         edit(func(b []byte) []byte { binary.LittleEndian.PutUint32(b, 1<<32-1); return b }),
		"secret length":      edit(func(b []byte) []byte { b[36]++; return b }),
		"secret length huge": edit(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[36:], 1<<31-1); return b }),
		"secret null":        edit(func(b []byte) []byte { binary.LittleEndian.PutUint32(b[36:], 1<<32-1); return b }),
	} {
		if got, err := openPayload(payload, nonce); err != errSecret || got != nil {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
}

func FuzzOpenRSASecret(f *testing.F) {
	server, nonce := app(f, "b", 2048), pattern(32)
	good := must(SealRSASecret(Basic256Sha256, server.key.Public(), server.cert, []byte("password"), nonce))(f)
	f.Add(good)
	f.Add(good[:40])
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, data []byte) {
		secret, err := OpenRSASecret(Basic256Sha256, server.key, server.cert, data, nonce)
		if err == nil && !bytes.Equal(data, good) {
			t.Fatalf("a forgery opens to %q", secret)
		}
		if err != nil && err != errSecret {
			t.Fatal(err)
		}
	}))
}

func FuzzSecretPayload(f *testing.F) {
	nonce := pattern(32)
	f.Add(sealPayload([]byte("password"), nonce, 16))
	f.Add(sealPayload(nil, nonce, 16))
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, payload []byte) {
		secret, err := openPayload(payload, nonce)
		behind := codec.AppendBytes(nil, secret)
		if len(secret) == 0 {
			behind = nil // null or empty
		}
		if err == nil && !bytes.Contains(payload, append(bytes.Clone(nonce), behind...)) {
			t.Fatalf("%q was not there", secret)
		}
	}))
}
