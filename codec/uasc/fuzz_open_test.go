package uasc

import (
	"bytes"
	"crypto"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// fuzzedPolicies are all that have keys.
var fuzzedPolicies = slices.Concat(securePolicies, otherPolicies)

// endsFor returns a sender and a receiver for each of fuzzedPolicies.
func endsFor(f *testing.F) (from, to []*identity) {
	for _, p := range fuzzedPolicies {
		from, to = append(from, appFor(f, "a", p)), append(to, appFor(f, "b", p))
	}
	return from, to
}

// sealPlain makes an OPN whose protected part is plain: signed and encrypted as its
// sender would, whatever is in it.
func sealPlain(t testing.TB, p *Policy, from, to *identity, plain []byte) []byte {
	thumbprint := Thumbprint(to.cert)
	frame := appendOpenHeader(nil, p, from.cert, thumbprint[:], 0)
	sealed := len(plain) + p.SignatureSize(from.key.Public())
	if p.Encrypts() {
		size := keySize(to.key.Public())
		block := p.plainBlock(size)
		sealed = (sealed + block - 1) / block * size
	}
	binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)+sealed))
	plain = append(bytes.Clone(plain), must(p.Sign(from.key, frame, plain))(t)...)
	if p.Encrypts() {
		plain = must(p.Encrypt(to.key.Public(), plain))(t)
	}
	return append(frame, plain...)
}

func keySize(pub crypto.PublicKey) int { return pub.(interface{ Size() int }).Size() }

// FuzzOpenPlaintext signs and encrypts any plaintext of an OPN, as a hostile client
// with a good certificate can (threat S8). It is opened if its padding is what Part 6,
// 6.7.2.5 wants, and then to what precedes it; else it fails as all the rest does.
func FuzzOpenPlaintext(f *testing.F) {
	from, to := endsFor(f)
	large := app(f, "b", 3072)
	for which, p := range fuzzedPolicies {
		for _, big := range []bool{false, true} {
			f.Add(uint8(which), big, slices.Concat(appendSizes(nil, 1, 2), pattern(40), []byte{3, 3, 3, 3}))
			f.Add(uint8(which), big, slices.Concat(appendSizes(nil, 1, 2), pattern(40), []byte{1, 1, 1, 0}))
		}
		f.Add(uint8(which), false, appendSizes(nil, 1, 2)[:7])
		if p.Encrypts() {
			f.Add(uint8(which), false, slices.Concat(appendSizes(nil, 1, 2), pattern(200), bytes.Repeat([]byte{25}, 26)))
			f.Add(uint8(which), true, slices.Concat(appendSizes(nil, 1, 2), bytes.Repeat([]byte{0x2C}, 0x12D), []byte{1}))
		}
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, which uint8, big bool, plain []byte) {
		i := int(which) % len(fuzzedPolicies)
		p, receiver := fuzzedPolicies[i], to[i]
		if len(plain) > 1000 {
			return // as good as any other, and each block costs an operation
		}
		extra := 0
		if big && p.Encrypts() && p.MaxKeyBits >= 3072 {
			receiver, extra = large, 1
		}
		chunk := sealPlain(t, p, from[i], receiver, plain)
		h, err := ParseOpen(chunk)
		if err != nil {
			t.Fatal(err)
		}
		before := bytes.Clone(chunk)
		seq, requestID, body, err := OpenAsymmetric(h, p, receiver.key, from[i].key.Public(), chunk)
		if !bytes.Equal(chunk, before) {
			t.Fatal("the chunk has changed")
		}
		want, good := withoutPadding(plain, p.Encrypts(), extra)
		if p.padding == paddingPKCS1 {
			// All blocks are full, or decryption would tell of the length of the last.
			good = good && (len(plain)+p.SignatureSize(from[i].key.Public()))%p.plainBlock(keySize(receiver.key.Public())) == 0
		}
		switch {
		case !good && (err != errSecurity || body != nil):
			t.Fatalf("%v: %x opens to %x, %v", p, plain, body, err)
		case good && err != nil:
			t.Fatalf("%v: %x: %v", p, plain, err)
		case good && !bytes.Equal(append(appendSizes(nil, seq, requestID), body...), want):
			t.Fatalf("%v: %x opens to %d, %d and %x", p, plain, seq, requestID, body)
		}
	}))
}

// withoutPadding is the rule of Part 6, 6.7.2.5 from its other end: it looks for a
// length of the body after which there is nothing but padding of the right size.
func withoutPadding(plain []byte, padded bool, extra int) ([]byte, bool) {
	if !padded {
		return plain, len(plain) >= 8
	}
	for n := 8; n+1+extra <= len(plain); n++ {
		size := len(plain) - n - 1 - extra
		if extra == 0 && size > 255 {
			continue // one byte cannot say so
		}
		padding := bytes.Repeat([]byte{byte(size)}, size+1)
		if extra == 1 {
			padding = append(padding, byte(size>>8))
		}
		if bytes.Equal(plain[n:], padding) {
			return plain[:n], true
		}
	}
	return nil, false
}

// FuzzOpenRaw changes an OPN that is on its way, as somebody in between can. None
// of that may be opened, and what is refused is refused with a code.
func FuzzOpenRaw(f *testing.F) {
	from, to := endsFor(f)
	var sealed [][]byte
	for i, p := range fuzzedPolicies {
		chunk, err := SealAsymmetric(nil, p, from[i].key, from[i].cert, to[i].cert, to[i].key.Public(), 7, 1, 2, pattern(100))
		if err != nil {
			f.Fatal(err)
		}
		sealed = append(sealed, chunk)
		f.Add(uint8(i), uint16(len(chunk)-3), []byte{1}, uint16(0))
		f.Add(uint8(i), uint16(12), []byte{0xFF, 0xFF, 0xFF, 0xFF}, uint16(16))
	}
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, which uint8, at uint16, edit []byte, cut uint16) {
		i := int(which) % len(fuzzedPolicies)
		chunk := bytes.Clone(sealed[i])
		for k, b := range edit {
			if k += int(at); k < len(chunk) {
				chunk[k] ^= b
			}
		}
		chunk = chunk[:len(chunk)-int(cut)%len(chunk)]
		if len(chunk) >= headerSize && cut != 0 && at&1 == 0 {
			binary.LittleEndian.PutUint32(chunk[4:], uint32(len(chunk)))
		}
		h, err := ParseOpen(chunk)
		var body []byte
		if err == nil {
			_, _, body, err = OpenAsymmetric(h, fuzzedPolicies[i], to[i].key, from[i].key.Public(), chunk)
		}
		var code ua.StatusCode
		switch {
		case bytes.Equal(chunk, sealed[i]):
			if err != nil || !bytes.Equal(body, pattern(100)) {
				t.Fatalf("unchanged: %x, %v", body, err)
			}
		case err == nil:
			t.Fatalf("%v: a forgery opens to %x:\n%x", fuzzedPolicies[i], body, chunk)
		case !errors.As(err, &code) || !code.IsBad() || body != nil:
			t.Fatalf("%v with %x", err, body)
		}
	}))
}
