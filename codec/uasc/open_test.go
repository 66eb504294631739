package uasc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// opn is an OPN under way from one application to another.
type opn struct {
	p        *Policy
	from, to *identity
	chain    []byte // what the sender presents; nil: its certificate
}

func (o opn) seal(t testing.TB, body []byte) []byte {
	t.Helper()
	chain := o.chain
	if chain == nil {
		chain = o.from.cert
	}
	return must(SealAsymmetric(nil, o.p, o.from.key, chain, o.to.cert, o.to.key.Public(), 9, 51, 3, body))(t)
}

func (o opn) open(chunk []byte) (uint32, uint32, []byte, error) {
	h, err := ParseOpen(chunk)
	if err != nil {
		return 0, 0, nil, err
	}
	return OpenAsymmetric(h, o.p, o.to.key, o.from.key.Public(), chunk)
}

// OPN under every policy, with keys of different sizes on the two sides: above
// 2,048 bits the receiver's padding has a second size byte (Part 6, 6.7.2.5).
func TestOpenRoundTrip(t *testing.T) {
	sizes := [][2]int{{2048, 2048}, {2048, 3072}, {3072, 2048}}
	if !testing.Short() {
		sizes = append(sizes, [2]int{4096, 4096})
	}
	for _, p := range otherPolicies {
		t.Run(p.Name, func(t *testing.T) {
			o := opn{p: p, from: appFor(t, "a", p), to: appFor(t, "b", p)}
			for n := 0; n < 500; n += 61 {
				frame := o.seal(t, pattern(n))
				was := bytes.Clone(frame)
				seq, id, body, err := o.open(frame)
				if err != nil || seq != 51 || id != 3 || !bytes.Equal(body, pattern(n)) || !bytes.Equal(was, frame) {
					t.Fatalf("%d bytes: sequence %d, request %d, %d bytes back, %v", n, seq, id, len(body), err)
				}
				if size := must(ParseHeader(frame, MinBufferSize))(t).Size; int(size) != len(frame) {
					t.Fatalf("%d bytes: size of %d", n, size)
				}
			}
		})
	}
	for _, p := range securePolicies {
		for _, bits := range sizes {
			t.Run(fmt.Sprintf("%v/%d-%d", p, bits[0], bits[1]), func(t *testing.T) {
				o := opn{p: p, from: app(t, "a", bits[0]), to: app(t, "b", bits[1])}
				step := 7
				if bits[0] > 2048 || bits[1] > 2048 {
					step = 61
				}
				for n := 0; n < 500; n += step {
					frame := o.seal(t, pattern(n))
					h, err := ParseHeader(frame, MinBufferSize)
					if err != nil || h.Type != TypeOpen || int(h.Size) != len(frame) {
						t.Fatalf("%d bytes: header %+v, %v", n, h, err)
					}
					was := bytes.Clone(frame)
					seq, id, body, err := o.open(frame)
					if err != nil || seq != 51 || id != 3 || !bytes.Equal(body, pattern(n)) {
						t.Fatalf("%d bytes: sequence %d, request %d, %d bytes back, %v", n, seq, id, len(body), err)
					}
					if !bytes.Equal(was, frame) {
						t.Fatal("opening changed the chunk")
					}
				}
			})
		}
	}
}

func TestOpenUnderNone(t *testing.T) {
	frame := must(SealAsymmetric([]byte("before"), PolicyNone, nil, nil, nil, nil, 0, 1, 2, []byte("body")))(t)
	want := append([]byte("before"), golden(t, `
		4f 50 4e 46   # OPN, final
		53 00 00 00   # 83 bytes
		00 00 00 00   # channel 0: an issue
		2f 00 00 00   # 47 bytes of policy URI
		68 74 74 70 3a 2f 2f 6f 70 63 66 6f 75 6e 64 61 74 69 6f 6e 2e 6f 72 67 # http://opcfoundation.org
		2f 55 41 2f 53 65 63 75 72 69 74 79 50 6f 6c 69 63 79 23 4e 6f 6e 65 # /UA/SecurityPolicy#None
		ff ff ff ff   # no certificate
		ff ff ff ff   # no thumbprint
		01 00 00 00   # sequence 1
		02 00 00 00   # request 2
		62 6f 64 79   # body`)...)
	if !bytes.Equal(frame, want) {
		t.Fatalf("\n got %x\nwant %x", frame, want)
	}
	h, err := ParseOpen(frame[6:])
	if err != nil || h.ChannelID != 0 || h.PolicyURI != PolicyNone.URI || h.SenderCertificate != nil || h.ReceiverThumbprint != nil {
		t.Fatalf("header %+v, %v", h, err)
	}
	seq, id, body, err := OpenAsymmetric(h, PolicyNone, nil, nil, frame[6:])
	if err != nil || seq != 1 || id != 2 || string(body) != "body" {
		t.Fatalf("%d, %d, %q, %v", seq, id, body, err)
	}
	_, _, _, err = OpenAsymmetric(h, Basic256Sha256, nil, nil, frame[6:])
	wantCode(t, err, ua.BadSecurityPolicyRejected)
}

// Every byte of an OPN behind its readable header, and most of those in it, are
// covered by the signature; all failures are one (threats S8 and S15).
func TestThreat_S8_EveryFlippedByteOfAnOpen(t *testing.T) {
	for _, p := range append(otherPolicies, securePolicies...) {
		t.Run(p.Name, func(t *testing.T) {
			o := opn{p: p, from: appFor(t, "a", p), to: appFor(t, "b", p)}
			frame := o.seal(t, pattern(130))
			h := must(ParseOpen(frame))(t)
			for i := range frame {
				inField := func(field []byte) bool {
					at := bytes.Index(frame, field)
					return i >= at && i < at+len(field)
				}
				switch {
				case i >= h.start && i%5 != 0 && p.Curve == nil: // RSA is slow; each block is hit often enough.
					continue
				case i >= h.start:
				case i >= headerSize && i < headerSize+4: // channel id
				case inField(h.SenderCertificate) && i%9 == 0, inField(h.ReceiverThumbprint):
				default:
					continue // Lengths, type and policy: refused when parsed.
				}
				bad := bytes.Clone(frame)
				bad[i] ^= 0x10
				if _, _, body, err := o.open(bad); err != errSecurity || body != nil {
					t.Fatalf("byte %d: %v", i, err)
				}
			}
			for _, cut := range []int{1, 63, 64, 65, 100, 255, 256, 257, 300, 500} {
				if len(frame)-cut < h.start+8 {
					continue // refused when parsed
				}
				short := bytes.Clone(frame[:len(frame)-cut])
				binary.LittleEndian.PutUint32(short[4:], uint32(len(short)))
				if _, _, _, err := o.open(short); err != errSecurity {
					t.Fatalf("cut by %d: %v", cut, err)
				}
			}
		})
	}
}

// Padding of an OPN that lies, from a sender with a good key.
func TestThreat_S8_LyingPaddingOfAnOpen(t *testing.T) {
	for _, bits := range []int{2048, 3072} {
		p := Aes256Sha256RsaPss
		o := opn{p: p, from: app(t, "a", 2048), to: app(t, "b", bits)}
		frame := o.seal(t, pattern(100))
		h := must(ParseOpen(frame))(t)
		plain := must(p.Decrypt(o.to.key, frame[h.start:]))(t)
		end := len(plain) - 256
		edits := []func(b []byte){
			func(b []byte) { b[end-1]++ },
			func(b []byte) { b[end-1] = 0xff },
			func(b []byte) { b[end-2] = 0xff },
			func(b []byte) { b[end-3] ^= 1 },
			func(b []byte) { copy(b[end-2:], "\xff\xff") },
			func(b []byte) {
				for i := range b {
					b[i] = 0xfe
				}
			},
		}
		for i, edit := range edits {
			bad := bytes.Clone(plain[:end])
			edit(bad)
			sig := must(p.Sign(o.from.key, frame[:h.start], bad))(t)
			chunk := append(bytes.Clone(frame[:h.start]), must(p.Encrypt(o.to.key.Public(), append(bad, sig...)))(t)...)
			if _, _, _, err := o.open(chunk); err != errSecurity {
				t.Errorf("%d bits, edit %d: %v", bits, i, err)
			}
		}
	}
}

// What a stranger can make us do is bounded before any RSA operation: the
// number of blocks, the sizes of the header's fields (threats S11 and S13).
func TestOpenIsBoundedBeforeDecryption(t *testing.T) {
	o := opn{p: Basic256Sha256, from: app(t, "a", 2048), to: app(t, "b", 2048)}
	frame := o.seal(t, nil)
	h := must(ParseOpen(frame))(t)
	for _, n := range []int{0, 8, 255, 257, (MaxOpenBlocks + 1) * 256, 64 << 10} {
		chunk := append(bytes.Clone(frame[:h.start]), make([]byte, n)...)
		binary.LittleEndian.PutUint32(chunk[4:], uint32(len(chunk)))
		_, _, _, err := o.open(chunk)
		if n < 8 {
			wantCode(t, err, ua.BadDecodingError)
			continue
		}
		if err != errSecurity {
			t.Errorf("%d bytes of ciphertext: %v", n, err)
		}
	}
	// A policy other than the named one, and missing fields.
	_, _, _, err := OpenAsymmetric(h, Aes128Sha256RsaOaep, o.to.key, o.from.key.Public(), frame)
	wantCode(t, err, ua.BadSecurityPolicyRejected)
	bare := h
	bare.SenderCertificate = nil
	_, _, _, err = OpenAsymmetric(bare, o.p, o.to.key, o.from.key.Public(), frame)
	wantCode(t, err, ua.BadCertificateInvalid)
	bare = h
	bare.ReceiverThumbprint = nil
	_, _, _, err = OpenAsymmetric(bare, o.p, o.to.key, o.from.key.Public(), frame)
	wantCode(t, err, ua.BadCertificateInvalid)
}

// openFrame builds the plain part of an OPN from fields of any size.
func openFrame(uri string, cert, thumbprint []byte, rest int) []byte {
	b := appendHeader(nil, TypeOpen, ChunkFinal, 0)
	b = appendSizes(b, 1)
	b = appendText(b, uri)
	b = appendField(b, cert)
	b = appendField(b, thumbprint)
	b = append(b, make([]byte, rest)...)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
	return b
}

func TestParseOpenBoundsItsFields(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame []byte
		code  ua.StatusCode
	}{
		{"nothing given", openFrame("", nil, nil, 8), ua.Good},
		{"all given", openFrame("urn:x", pattern(MaxCertificateLength), pattern(20), 8), ua.Good},
		{"longest policy URI", openFrame(strings.Repeat("a", 255), nil, nil, 8), ua.Good},
		{"policy URI too long", openFrame(strings.Repeat("a", 256), nil, nil, 8), ua.BadSecurityPolicyRejected},
		{"certificate too long", openFrame("urn:x", pattern(MaxCertificateLength+1), nil, 8), ua.BadCertificateInvalid},
		{"short thumbprint", openFrame("urn:x", nil, pattern(19), 8), ua.BadCertificateInvalid},
		{"long thumbprint", openFrame("urn:x", nil, pattern(32), 8), ua.BadCertificateInvalid},
		{"no sequence header", openFrame("urn:x", nil, nil, 7), ua.BadDecodingError},
		{"a message", suites[0].link(t, Limits{}, nil).seal(t, 1, pattern(50)), ua.BadTcpMessageTypeInvalid},
		{"negative length", append(appendSizes(appendHeader(nil, TypeOpen, ChunkFinal, 40), 1, 1<<32-2), make([]byte, 24)...), ua.BadDecodingError},
		{"length beyond the frame", append(appendSizes(appendHeader(nil, TypeOpen, ChunkFinal, 40), 1, 1<<31-1), make([]byte, 24)...), ua.BadDecodingError},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ParseOpen(c.frame)
			if c.code != ua.Good {
				wantCode(t, err, c.code)
			} else if err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestOpenNamesItsReceiver(t *testing.T) {
	o := opn{p: Basic256Sha256, from: app(t, "a", 2048), to: app(t, "b", 2048)}
	h := must(ParseOpen(o.seal(t, nil)))(t)
	own, other := Thumbprint(o.to.cert), Thumbprint(o.from.cert)
	if !h.IsFor(own[:]) || h.IsFor(other[:]) || h.IsFor(nil) {
		t.Fatal("receiver not recognized")
	}
	h.ReceiverThumbprint = nil
	if h.IsFor(nil) || h.IsFor(own[:]) {
		t.Fatal("no thumbprint is for someone")
	}
	chain := append(bytes.Clone(o.to.cert), o.from.cert...)
	if Thumbprint(chain) != own {
		t.Fatal("the thumbprint of a chain is not its leaf's")
	}
}

// A chain is sent whole while the frame fits into the smallest buffer, and cut
// to its leaf beyond.
func TestLongChainIsCutToItsLeaf(t *testing.T) {
	a, b := app(t, "a", 2048), app(t, "b", 2048)
	for copies, want := range map[int]int{1: 1, 3: 3, 5: 5, 15: 1} {
		chain := bytes.Repeat(a.cert, copies)
		o := opn{p: Basic256Sha256, from: a, to: b, chain: chain}
		frame := o.seal(t, pattern(130))
		h := must(ParseOpen(frame))(t)
		if len(h.SenderCertificate) != want*len(a.cert) || len(frame) > MinBufferSize {
			t.Errorf("%d certificates: sent %d bytes in %d", copies, len(h.SenderCertificate), len(frame))
		}
		if _, _, _, err := o.open(frame); err != nil {
			t.Errorf("%d certificates: %v", copies, err)
		}
	}
}

func TestSplitChain(t *testing.T) {
	a, b := app(t, "a", 2048).cert, app(t, "b", 2048).cert
	certs, err := SplitChain(append(bytes.Clone(a), b...))
	if err != nil || len(certs) != 2 || !bytes.Equal(certs[0], a) || !bytes.Equal(certs[1], b) {
		t.Fatalf("%d certificates, %v", len(certs), err)
	}
	small := []byte{0x30, 0x01, 0x00}
	if certs, err = SplitChain(bytes.Repeat(small, MaxChainLength)); err != nil || len(certs) != MaxChainLength {
		t.Fatalf("%d certificates, %v", len(certs), err)
	}
	for name, chain := range map[string][]byte{
		"nothing":          nil,
		"too many":         bytes.Repeat(small, MaxChainLength+1),
		"too long":         append([]byte{0x30, 0x82, 0x40, 0x00}, make([]byte, 0x4000)...),
		"trailing bytes":   append(bytes.Clone(a), 0, 0),
		"truncated":        a[:len(a)-1],
		"not a sequence":   {0x04, 0x01, 0x00},
		"endless length":   {0x30, 0x80, 0, 0},
		"length of 2^32-1": {0x30, 0x84, 0xff, 0xff, 0xff, 0xff, 0},
	} {
		if _, err := SplitChain(chain); err != errCertificate {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Keys outside the policy's window never come to an RSA operation (threat S13).
func TestKeySizeWindow(t *testing.T) {
	small, good := app(t, "small", 1024), app(t, "a", 2048)
	for _, p := range securePolicies {
		wantCode(t, p.CheckKey(small.key.Public()), ua.BadCertificateInvalid)
		wantCode(t, p.CheckKey(nil), ua.BadCertificateInvalid)
		wantCode(t, p.CheckKey("no key"), ua.BadCertificateInvalid)
		if err := p.CheckKey(good.key.Public()); err != nil {
			t.Error(err)
		}
		if _, err := SealAsymmetric(nil, p, small.key, small.cert, good.cert, good.key.Public(), 0, 1, 1, nil); err == nil {
			t.Error("sealed with a small key")
		}
		if _, err := SealAsymmetric(nil, p, good.key, good.cert, small.cert, small.key.Public(), 0, 1, 1, nil); err == nil {
			t.Error("sealed for a small key")
		}
		if _, err := p.Decrypt(small.key, make([]byte, 128)); err != errSecurity {
			t.Error(err)
		}
		if err := p.Verify(small.key.Public(), make([]byte, 128)); err != errSecurity {
			t.Error(err)
		}
	}
}

func FuzzParseOpen(f *testing.F) {
	f.Add(openFrame("", nil, nil, 8))
	f.Add(openFrame(Basic256Sha256.URI, pattern(900), pattern(20), 512))
	f.Add(must(SealAsymmetric(nil, PolicyNone, nil, nil, nil, nil, 0, 1, 2, pattern(100)))(f))
	to, from := app(f, "b", 2048), app(f, "a", 2048)
	f.Fuzz(fuzzguard.Guard(f, fuzzguard.Bounds{}, func(t *testing.T, chunk []byte) {
		h, err := ParseOpen(chunk)
		if err != nil {
			return
		}
		if len(h.PolicyURI) > MaxPolicyURILength || len(h.SenderCertificate) > MaxCertificateLength ||
			h.ReceiverThumbprint != nil && len(h.ReceiverThumbprint) != 20 {
			t.Fatalf("header beyond the limits: %+v", h)
		}
		if _, err := SplitChain(h.SenderCertificate); err == nil && len(h.SenderCertificate) == 0 {
			t.Fatal("nothing is a chain")
		}
		p, ok := PolicyByURI(h.PolicyURI)
		if !ok {
			return
		}
		_, _, body, err := OpenAsymmetric(h, p, to.key, from.key.Public(), chunk)
		if p.Secure() && err == nil {
			t.Fatalf("forged %d bytes of body", len(body))
		}
	}))
}
