package attack

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/binary"
	"io"
	mathrand "math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// withdrawn offers every policy that there is, also those that have to be asked
// for by name.
func withdrawn(c *uahive.Config) {
	c.Security = append(c.Security, uahive.DeprecatedBasic256Encrypt, uahive.DeprecatedBasic128Rsa15Encrypt)
	c.Security = append(c.Security, uahive.ECCPolicies()...)
}

// openForger makes OpenSecureChannel messages that are wrong in one way each. It
// knows the client's key, so that what is wrong can lie behind a good signature.
type openForger struct {
	t      *testing.T
	peer   *rawpeer.Peer
	policy *uasc.Policy
	head   []byte // the readable header, with the size of the whole message
	block  []byte // one block of good ciphertext
	plain  []byte // sequence header, body and padding
	sealed []byte // a good message
}

func newOpenForger(t *testing.T, x *target, config rawpeer.Config) *openForger {
	t.Helper()
	p := rawpeer.New(t, x.dial(), config)
	f := &openForger{t: t, peer: p, policy: config.Policy}
	body := &ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityMode(config.Mode), ClientNonce: config.Policy.Nonce(), RequestedLifetime: 60_000}
	f.sealed = p.SealOpen(body)
	own := config.Own.CertificateFor(config.Policy.Curve)
	start := 12 + 4 + len(config.Policy.URI) + 4 + len(own.Chain) + 4 + 20
	f.head = f.sealed[:start]
	if !config.Policy.Encrypts() {
		return f
	}
	key := config.Server.Key.Public().(*rsa.PublicKey)
	f.block = f.sealed[start : start+key.Size()]
	f.plain = binary.LittleEndian.AppendUint32(nil, 1)
	f.plain = binary.LittleEndian.AppendUint32(f.plain, 1)
	f.plain = append(f.plain, rawpeer.Encode(body)...)
	overhead := map[*uasc.Policy]int{
		uasc.Basic128Rsa15: 11, uasc.Basic256: 42, uasc.Basic256Sha256: 42, uasc.Aes128Sha256RsaOaep: 42, uasc.Aes256Sha256RsaPss: 66,
	}[config.Policy]
	whole := (len(f.sealed) - start) / key.Size() * (key.Size() - overhead)
	pad := whole - len(f.plain) - 1 - config.Policy.SignatureSize(own.Key.Public())
	f.plain = append(f.plain, bytes.Repeat([]byte{byte(pad)}, pad+1)...)
	return f
}

// seal signs and encrypts a plaintext, after and before it is bent.
func (f *openForger) seal(before, after func(plain []byte)) []byte {
	f.t.Helper()
	plain := bytes.Clone(f.plain)
	before(plain)
	sig, err := f.policy.Sign(f.peer.Config.Own.CertificateFor(f.policy.Curve).Key, f.head, plain)
	if err != nil {
		f.t.Fatal(err)
	}
	plain = append(plain, sig...)
	after(plain)
	cipher, err := f.policy.Encrypt(f.peer.Config.Server.Key.Public(), plain)
	if err != nil {
		f.t.Fatal(err)
	}
	return append(bytes.Clone(f.head), cipher...)
}

// flip returns the good message with one bit changed.
func (f *openForger) flip(at int) []byte {
	b := bytes.Clone(f.sealed)
	b[(at+len(b))%len(b)] ^= 4
	return b
}

// forgeries returns what an oracle would tell apart: wrong padding of a block, good
// padding of nonsense, wrong and good padding of the message, a wrong signature.
func (f *openForger) forgeries() map[string][]byte {
	start, nothing := len(f.head), func([]byte) {}
	if !f.policy.Encrypts() {
		return map[string][]byte{"sequence": f.flip(start), "body": f.flip(start + 20), "signature": f.flip(-1), "its beginning": f.flip(-90)}
	}
	random := bytes.Clone(f.sealed)
	rand.Read(random[start:])
	for at := start; at < len(random); at += len(f.block) {
		random[at] = 0 // below the modulus
	}
	zeros := bytes.Clone(f.sealed)
	clear(zeros[start:])
	repeated := bytes.Clone(f.sealed) // good blocks in a wrong order
	for at := start; at < len(repeated); at += len(f.block) {
		copy(repeated[at:], f.block)
	}
	short := bytes.Clone(f.sealed[:start])
	for range (len(f.sealed) - start) / len(f.block) {
		one, err := f.policy.Encrypt(f.peer.Config.Server.Key.Public(), []byte{1})
		if err != nil {
			f.t.Fatal(err)
		}
		short = append(short, one...)
	}
	last := len(f.plain) - 1
	return map[string][]byte{
		"first block": f.flip(start + 9), "last block": f.flip(-9), "random": random, "zeros": zeros, "repeated": repeated, "short texts": short,
		"signature":            f.seal(nothing, func(b []byte) { b[len(b)-1] ^= 1 }),
		"its beginning":        f.seal(nothing, func(b []byte) { b[last+1] ^= 1 }),
		"body":                 f.seal(nothing, func(b []byte) { b[20] ^= 1 }),
		"padding":              f.seal(nothing, func(b []byte) { b[last-1] ^= 1 }),
		"padding size":         f.seal(nothing, func(b []byte) { b[last] ^= 1 }),
		"signed padding":       f.seal(func(b []byte) { b[last-1] ^= 1 }, nothing),
		"signed padding size":  f.seal(func(b []byte) { b[last] ^= 1 }, nothing),
		"signed, beyond it":    f.seal(func(b []byte) { b[last] = 255 }, nothing),
		"all of it is padding": f.seal(func(b []byte) { copy(b, bytes.Repeat([]byte{byte(last)}, last+1)) }, func(b []byte) { b[len(b)-1] ^= 1 }),
	}
}

// told sends a message on a connection that has said Hello and returns all bytes
// that come until the connection ends, and how long that took.
func (x *target) told(t *testing.T, config rawpeer.Config, frame []byte) ([]byte, time.Duration) {
	t.Helper()
	p := rawpeer.New(t, x.dial(), config)
	defer p.Conn.Close()
	p.Hello()
	start := time.Now()
	p.Write(frame)
	p.Conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	answer, err := io.ReadAll(p.Conn)
	if err != nil {
		t.Fatalf("the connection goes on after %d bytes: %v", len(answer), err)
	}
	return answer, time.Since(start)
}

// refusal is the one Error message for whatever fails: the code, and no reason.
func refusal() []byte {
	b := append([]byte("ERRF"), 16, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(ua.BadSecurityChecksFailed))
	return append(b, 0xFF, 0xFF, 0xFF, 0xFF)
}

// Whatever is wrong with the secured part of an OpenSecureChannel message, the
// answer is the same to the byte, under every policy (Part 6, 6.7.6). A server that
// told wrong padding from a wrong signature decrypted for whoever asked.
func TestThreat_S8_S15_OneAnswerToEveryForgedOpen(t *testing.T) {
	x := newTarget(t, onTCP, withdrawn)
	for _, policy := range uasc.Policies() {
		if !policy.Secure() {
			continue
		}
		config := x.secure(policy, uasc.ModeSignAndEncrypt)
		config.Server = x.server.PKI().CertificateFor(policy.Curve)
		if policy.Curve != nil {
			config.Own = x.clientPKI(keyType(t, policy))
		}
		f := newOpenForger(t, x, config)
		if policy.Encrypts() { // what is bent below is good before
			p := rawpeer.New(t, x.dial(), config)
			p.Hello()
			p.Write(f.seal(func([]byte) {}, func([]byte) {}))
			if frame := p.Frame(); string(frame[:3]) != "OPN" {
				t.Fatalf("%s: the good message is answered with %q", policy.Name, frame)
			}
		}
		for name, frame := range f.forgeries() {
			if answer, _ := x.told(t, config, frame); !bytes.Equal(answer, refusal()) {
				t.Errorf("%s, %s: %x", policy.Name, name, answer)
			}
		}
	}
}

// The same for chunks under the keys of a channel.
func TestThreat_S8_OneAnswerToEveryForgedChunk(t *testing.T) {
	x := newTarget(t, onTCP, withdrawn)
	for _, policy := range []*uasc.Policy{uasc.Basic128Rsa15, uasc.Basic256Sha256, uasc.Aes128Sha256RsaOaep, uasc.Aes256Sha256RsaPss} {
		config := x.secure(policy, uasc.ModeSignAndEncrypt)
		for name, bend := range map[string]func(b []byte) []byte{
			"sequence header": func(b []byte) []byte { b[16] ^= 1; return b },
			"body":            func(b []byte) []byte { b[40] ^= 1; return b },
			// Of CBC, what is changed in a block changes the same bits of the next one.
			"padding":       func(b []byte) []byte { b[len(b)-33-16] ^= 1; return b },
			"padding size":  func(b []byte) []byte { b[len(b)-17-16] ^= 0xFF; return b },
			"signature":     func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
			"its beginning": func(b []byte) []byte { b[len(b)-20] ^= 1; return b },
			"one block":     func(b []byte) []byte { return b[:32] },
			"no block":      func(b []byte) []byte { return b[:16] },
			"cut by one":    func(b []byte) []byte { return b[:len(b)-1] },
			"cut by blocks": func(b []byte) []byte { return b[:len(b)-32] },
			"zeros":         func(b []byte) []byte { clear(b[16:]); return b },
			"type":          func(b []byte) []byte { b[3] = 'C'; return b },
		} {
			p := rawpeer.Connect(t, x.dial(), config)
			frame := bend(p.Seal(uasc.TypeMessage, 5, rawpeer.Encode(&ua.GetEndpointsRequest{EndpointURL: "opc.tcp://h:1"})))
			binary.LittleEndian.PutUint32(frame[4:], uint32(len(frame)))
			p.Write(frame)
			p.Conn.SetReadDeadline(time.Now().Add(10 * time.Second))
			answer, err := io.ReadAll(p.Conn)
			want := refusal()
			if name == "no block" && bytes.Equal(answer, sizeRefusal()) { // decided on the header, before any key
				continue
			}
			if err != nil || !bytes.Equal(answer, want) {
				t.Errorf("%s, %s: %x, %v", policy.Name, name, answer, err)
			}
		}
	}
}

// sizeRefusal is what a chunk without room for its header gets.
func sizeRefusal() []byte {
	b := refusal()
	binary.LittleEndian.PutUint32(b[8:], uint32(ua.BadTcpMessageTooLarge))
	return b
}

// apart reports whether two samples of times can be told from one another: whether
// the ranges between two of their lower quantiles, which noise reaches least, do
// not touch (the box test of Crosby, Wallach and Riedi).
func apart(a, b []time.Duration) bool {
	low, high := 0.10, 0.40
	if *long {
		low, high = 0.05, 0.15
	}
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	at := func(s []time.Duration, q float64) time.Duration { return s[int(q*float64(len(s)-1))] }
	return at(a, high) < at(b, low) || at(b, high) < at(a, low)
}

// sample measures each of the questions that often, in random order.
func sample(n int, questions []func() time.Duration) [][]time.Duration {
	times := make([][]time.Duration, len(questions))
	var order []int
	for i := range questions {
		order = append(order, slices.Repeat([]int{i}, n)...)
	}
	mathrand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, i := range order {
		times[i] = append(times[i], questions[i]())
	}
	return times
}

// oracle asks until the control is told apart, which shows that the machine is
// quiet enough for the answer to mean something, and fails when the first two
// questions are told apart each time. The last question is the control.
func oracle(t *testing.T, what string, n int, questions ...func() time.Duration) {
	t.Helper()
	const attempts = 4
	seen, heard := 0, 0
	for range attempts {
		times := sample(n, questions)
		if !apart(times[0], times[2]) {
			continue // too loud
		}
		heard++
		for i := range times {
			slices.Sort(times[i])
		}
		t.Logf("%s: lower quartiles %v, %v; control %v", what, times[0][n/4], times[1][n/4], times[2][n/4])
		if !apart(times[0], times[1]) {
			return
		}
		seen++
	}
	switch {
	case heard == 0:
		t.Errorf("%s: the control was never told apart, so nothing was measured", what)
	case seen == heard:
		t.Errorf("%s: told apart %d times of %d", what, seen, heard)
	}
}

// How long a refusal takes does not say whether the padding of a block was good,
// least of all under rsa-1_5, where a million answers decrypt a message.
func TestThreat_S15_OpenTiming(t *testing.T) {
	x := newTarget(t, onTCP, withdrawn)
	n := scale(60, 3000)
	if raceEnabled {
		n = 20
	}
	for _, policy := range []*uasc.Policy{uasc.Basic128Rsa15, uasc.Basic256Sha256, uasc.Aes256Sha256RsaPss} {
		config := x.secure(policy, uasc.ModeSignAndEncrypt)
		f := newOpenForger(t, x, config)
		all := f.forgeries()
		ask := func(frame []byte) func() time.Duration {
			return func() time.Duration {
				answer, took := x.told(t, config, frame)
				if !bytes.Equal(answer, refusal()) {
					t.Fatalf("%s: %x", policy.Name, answer)
				}
				return took
			}
		}
		// One private-key operation more is what the test must see.
		more := append(bytes.Clone(all["signature"]), f.block...)
		binary.LittleEndian.PutUint32(more[4:], uint32(len(more)))
		oracle(t, policy.Name+": wrong padding of a block against a wrong signature", n, ask(all["random"]), ask(all["signature"]), ask(more))
	}
}
