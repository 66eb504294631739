package uasc

import (
	"bytes"
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/asn1"
	"math/big"
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// agreement is a known answer: the private keys and the common secret are those of
// RFC 5903, 8.1 and 8.2. The derived keys are what Python's cryptography (over
// OpenSSL) makes of them by the text of Part 6, 6.8.1 and 6.8.3.
type agreement struct {
	p                                      *Policy
	client, server                         string // private
	clientShare, serverShare, secret       string
	clientKeys, serverKeys, secretMaterial string
	clientSigns, serverSigns               string // the signing keys in mode Sign, which are others
}

var agreements = []agreement{
	{
		p:      ECCNistP256,
		client: "C88F01F510D9AC3F70A292DAA2316DE544E9AAB8AFE84049C62A9C57862D1433",
		server: "C6EF9C5D78AE012A011164ACB397CE2088685D8F06BF9BE0B283AB46476BEE53",
		clientShare: `dad0b65394221cf9b051e1feca5787d098dfe637fc90b9ef945d0c3772581180
			5271a0461cdb8252d61f1c456fa3e59ab1f45b33accf5f58389e0577b8990bb3`,
		serverShare: `d12dfb5289c8d4f81208b70270398c342296970a0bccb74c736fc7554494bf63
			56fbf3ca366cc23e8157854c13c58d6aac23f046ada30f8353e74f33039872ab`,
		secret: "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de",
		clientKeys: `23b545c7a761640b1ace16a0f2cbb1ae4bdb51cc6d86ab0c09c64f46401aefd9 # signing
			8a93ce768b55d6bb42134178614a9c53 # encrypting
			92130709ecd64be92a27fa73b1e136f3 # initialization vector`,
		serverKeys: `227ace9032ca8194f924158ba731a9c6ecf065b5243fb36568ed8eb952c6ed3d
			3ad5a7411a89f268e5ae259145976dcc
			fa6d52ff46aaebd76e5763ae6d13ee9a`,
		secretMaterial: "55cd445b094cf682d0d98ef53a9a9d6a 915c6ce561b03d1f8b8f1aa873028421",
		clientSigns:    "22afe5a7368e2631599f2d92ec5d7fa5e4268b74fe1c5ffdecd6a70ba1166a61",
		serverSigns:    "17dc5cab1c61fc1b3cc60e818ce6ecbee999ad669531408d8833db36ac900ea3",
	},
	{
		p:      ECCNistP384,
		client: "099F3C7034D4A2C699884D73A375A67F7624EF7C6B3C0F160647B67414DCE655E35B538041E649EE3FAEF896783AB194",
		server: "41CB0779B4BDB85D47846725FBEC3C9430FAB46CC8DC5060855CC9BDA0AA2942E0308312916B8ED2960E4BD55A7448FC",
		clientShare: `667842d7d180ac2cde6f74f37551f55755c7645c20ef73e31634fe72b4c55ee6de3ac808acb4bdb4c88732aee95f41aa
			9482ed1fc0eeb9cafc4984625ccfc23f65032149e0e144ada024181535a0f38eeb9fcff3c2c947dae69b4c634573a81c`,
		serverShare: `e558dbef53eecde3d3fccfc1aea08a89a987475d12fd950d83cfa41732bc509d0d1ac43a0336def96fda41d0774a3571
			dcfbec7aacf3196472169e838430367f66eebe3c6e70c416dd5f0c68759dd1fff83fa40142209dff5eaad96db9e6386c`,
		secret: "11187331c279962d93d604243fd592cb9d0a926f422e47187521287e7156c5c4d603135569b9e9d09cf5d4a270f59746",
		clientKeys: `f98c1288ec026ac684953e2f896380215bb632d7496c76bb295a36cd7ee6077b9099d337a13e5f289989c6744b1e7688
			a894a9899fb9e80a8045b99155e734cf5dbce3b1e78397e3f805196f43000698
			1a4f363ab7d40fc9913151c2015f7884`,
		serverKeys: `b7bd6d7ed41fa06e479c454b9fb94d0998027cf35670eca4fc7e1c7fd79df564cbb7f55201029df269706f4db4ab1264
			b2db1d478c94fb03466fdc166e39e4d8ae4130223de208a4e45514e8963c6057
			1bd86b7daa4096188415a50cb5fd777d`,
		secretMaterial: `8a294dec3c80ed7d81e5d5f4f17ff3eb3e17ac63bfff74cdec0d58adbe71f143
			dd0915eb9f559ebffdebecd520859748`,
		clientSigns: "e13d939538e1d59d4459c071510d604b173f97ae5f8572d5ca01ca28e4957798cef283293d13e8a86a0eb47886ca6393",
		serverSigns: "9c89f5b90c0936b87113efe3a0886f1e1b646dbeca20a97babc38a69c4dca884c49e96920cdbb72fe855f46c639d065d",
	},
}

func shareOf(t testing.TB, p *Policy, private string) Share {
	t.Helper()
	key := must(p.agree.NewPrivateKey(golden(t, private)))(t)
	return Share{Nonce: key.PublicKey().Bytes()[1:], key: key}
}

func TestAgreedKeysAreTheKnownOnes(t *testing.T) {
	for _, a := range agreements {
		client, server := shareOf(t, a.p, a.client), shareOf(t, a.p, a.server)
		check := func(what, want string, got []byte) {
			t.Helper()
			if !bytes.Equal(got, golden(t, want)) {
				t.Errorf("%v: %s:\n got %x\nwant %x", a.p, what, got, golden(t, want))
			}
		}
		check("share of the client", a.clientShare, client.Nonce)
		check("share of the server", a.serverShare, server.Nonce)
		check("secret", a.secret, must(client.secret(a.p, server.Nonce))(t))
		check("secret of the server", a.secret, must(server.secret(a.p, client.Nonce))(t))
		c := TokenConfig{Policy: a.p, Mode: ModeSignAndEncrypt, Local: client, RemoteNonce: server.Nonce}
		send, recv, err := c.material()
		if err != nil {
			t.Fatal(err)
		}
		check("keys of the client", a.clientKeys, send)
		check("keys of the server", a.serverKeys, recv)
		c = TokenConfig{Policy: a.p, Mode: ModeSignAndEncrypt, Server: true, Local: server, RemoteNonce: client.Nonce}
		if send, recv, err = c.material(); err != nil {
			t.Fatal(err)
		}
		check("keys of the server, there", a.serverKeys, send)
		check("keys of the client, there", a.clientKeys, recv)
		c.Mode = ModeSign
		if send, recv, err = c.material(); err != nil {
			t.Fatal(err)
		}
		check("signing key of the server", a.serverSigns, send)
		check("signing key of the client", a.clientSigns, recv)
	}
}

// What is no point of the curve is refused before the private key meets it, as is
// our own share; all as BadNonceInvalid (Part 4, 5.6.2.3; threat S12).
func TestEphemeralKeysAreCheckedBeforeTheyAreUsed(t *testing.T) {
	for _, p := range []*Policy{ECCNistP256, ECCNistP384} {
		own, good := p.NewShare(), p.NewShare().Nonce
		other := ECCNistP256
		if p == other {
			other = ECCNistP384
		}
		n := p.coordinate()
		field := make([]byte, p.NonceLength)
		p.Curve.Params().P.FillBytes(field[:n]) // x = p, which is 0 by another name
		off := bytes.Clone(good)
		off[len(off)-1] ^= 1
		for name, nonce := range map[string][]byte{
			"nothing":         nil,
			"zeros":           make([]byte, p.NonceLength),
			"ones":            bytes.Repeat([]byte{0xff}, p.NonceLength),
			"off the curve":   off,
			"x not reduced":   field,
			"one byte short":  good[:len(good)-1],
			"one byte long":   append(bytes.Clone(good), 0),
			"with a prefix":   append([]byte{uncompressed}, good...),
			"compressed":      append([]byte{2}, good[:n]...),
			"another curve":   other.NewShare().Nonce,
			"random":          pattern(p.NonceLength),
			"our own, echoed": own.Nonce,
		} {
			_, err := NewToken(TokenConfig{Policy: p, Mode: ModeSign, ID: 1, Local: own, RemoteNonce: nonce})
			wantCode(t, err, ua.BadNonceInvalid)
			if name != "our own, echoed" {
				wantCode(t, p.CheckNonce(nonce), ua.BadNonceInvalid)
			}
		}
		if err := p.CheckNonce(good); err != nil {
			t.Error(err)
		}
		// A share without its key, or of another curve, secures nothing.
		for _, local := range []Share{{Nonce: own.Nonce}, {Nonce: own.Nonce, key: other.NewShare().key}} {
			_, err := NewToken(TokenConfig{Policy: p, Mode: ModeSign, ID: 1, Local: local, RemoteNonce: good})
			wantCode(t, err, ua.BadNonceInvalid)
		}
	}
}

func TestSharesAreFresh(t *testing.T) {
	for _, p := range append(otherPolicies, securePolicies...) {
		a, b := p.NewShare(), p.NewShare()
		if len(a.Nonce) != p.NonceLength || bytes.Equal(a.Nonce, b.Nonce) || p.CheckNonce(a.Nonce) != nil {
			t.Errorf("%v: shares %x and %x", p, a.Nonce, b.Nonce)
		}
	}
	if s := PolicyNone.NewShare(); s.Nonce != nil {
		t.Error("None has a nonce")
	}
}

// A token knows the peer's ephemeral key, so that no other is made of it.
func TestReusedEphemeralKeyIsKnown(t *testing.T) {
	for _, p := range append(otherPolicies, PolicyNone, Basic256Sha256) {
		local, remote := p.NewShare(), p.NewShare().Nonce
		c := TokenConfig{Policy: p, Mode: ModeSign, ID: 1, Local: local, RemoteNonce: remote}
		if p == PolicyNone {
			c.Mode = ModeNone
		}
		tok := must(NewToken(c))(t)
		o := NewOpener(OpenerConfig{Policy: p})
		o.Install(tok)
		if o.Reuses(remote) != (p.Curve != nil) || o.Reuses(p.NewShare().Nonce) || o.Reuses(nil) {
			t.Errorf("%v: reuse %v", p, o.Reuses(remote))
		}
	}
}

// Numbers of the newer policies start at 0 (Part 6, 6.7.2.4).
func TestSequenceStartsAsThePolicySays(t *testing.T) {
	for _, s := range suites {
		l := s.link(t, Limits{}, nil)
		want := uint32(1)
		if s.policy.Curve != nil {
			want = 0
		}
		if n := l.sealer.NextSequence(); n != want {
			t.Errorf("%v: first number %d", s, n)
		}
		if err := l.opener.AcceptSequence(want); err != nil {
			t.Errorf("%v: %v", s, err)
		}
		if s.policy.Curve != nil {
			wantCode(t, s.link(t, Limits{}, nil).opener.AcceptSequence(1), ua.BadSecurityChecksFailed)
		}
	}
}

// A signature is r and s in the length of a coordinate each, and nothing else is
// one.
func TestECDSASignatureFormat(t *testing.T) {
	for _, p := range []*Policy{ECCNistP256, ECCNistP384} {
		key := appFor(t, "a", p).key.(*ecdsa.PrivateKey)
		n := p.coordinate()
		for range 300 { // some have a short r or s
			sig := must(p.Sign(key, []byte("da"), []byte("ta")))(t)
			if len(sig) != 2*n || p.SignatureSize(key.Public()) != 2*n {
				t.Fatalf("%v: %d bytes", p, len(sig))
			}
			if err := p.Verify(key.Public(), sig, []byte("data")); err != nil {
				t.Fatal(err)
			}
		}
		sig := must(p.Sign(key, []byte("data")))(t)
		der := must(asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(sig[:n]), new(big.Int).SetBytes(sig[n:])}))(t)
		if !ecdsa.VerifyASN1(&key.PublicKey, p.sum([][]byte{[]byte("data")}), der) {
			t.Fatal("not the signature that X.509 would have")
		}
		zero := make([]byte, n)
		for name, bad := range map[string][]byte{
			"nothing": nil, "DER": der, "short": sig[1:], "long": append(bytes.Clone(sig), 0),
			"zeros": make([]byte, 2*n), "r of zero": append(bytes.Clone(zero), sig[n:]...), "s of zero": append(bytes.Clone(sig[:n]), zero...),
			"swapped": append(bytes.Clone(sig[n:]), sig[:n]...), "ones": bytes.Repeat([]byte{0xff}, 2*n),
		} {
			if err := p.Verify(key.Public(), bad, []byte("data")); err != errSecurity {
				t.Errorf("%v: %s: %v", p, name, err)
			}
		}
		if err := p.Verify(key.Public(), sig, []byte("Data")); err != errSecurity {
			t.Error(err)
		}
	}
}

// RFC 6979, A.2.5 and A.2.6, message "sample": signatures of others are verified.
func TestECDSAKnownSignatures(t *testing.T) {
	for _, c := range []struct {
		p    *Policy
		key  string
		sign string
	}{
		{ECCNistP256, "C9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721", `
			EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716
			F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8`},
		{ECCNistP384, "6B9D3DAD2E1B8C1C05B19875B6659F4DE23C3B667BF297BA9AA47740787137D896D5724E4C70A825F872C9EA60D2EDF5", `
			94EDBB92A5ECB8AAD4736E56C691916B3F88140666CE9FA73D64C4EA95AD133C81A648152E44ACF96E36DD1E80FABE46
			99EF4AEB15F178CEA1FE40DB2603138F130E740A19624526203B6351D0A3A94FA329C145786E679E7B82C71A38628AC8`},
	} {
		private := must(ecdsa.ParseRawPrivateKey(c.p.Curve, golden(t, c.key)))(t)
		if err := c.p.Verify(private.Public(), golden(t, c.sign), []byte("sample")); err != nil {
			t.Errorf("%v: %v", c.p, err)
		}
	}
}

// The key of a certificate is on the policy's curve, or it is no key for the
// policy: not for signing, sealing, verifying or opening (threat S13).
func TestKeyOfAnotherKindIsRefused(t *testing.T) {
	keys := map[string]crypto.Signer{
		"RSA": app(t, "a", 2048).key, "P-256": appFor(t, "a", ECCNistP256).key, "P-384": appFor(t, "a", ECCNistP384).key,
		"P-521": must(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))(t),
	}
	for _, p := range append(otherPolicies, securePolicies...) {
		fits := "RSA"
		if p.Curve != nil {
			fits = p.Curve.Params().Name
		}
		good := appFor(t, "a", p)
		frame := opn{p: p, from: good, to: good}.seal(t, pattern(100))
		h := must(ParseOpen(frame))(t)
		for name, key := range keys {
			if name == fits {
				continue
			}
			wantCode(t, p.CheckKey(key.Public()), ua.BadCertificateInvalid)
			if _, err := p.Sign(key, []byte("x")); err == nil {
				t.Errorf("%v signs with %s", p, name)
			}
			if err := p.Verify(key.Public(), make([]byte, 256), nil); err != errSecurity {
				t.Errorf("%v verifies with %s: %v", p, name, err)
			}
			if _, err := SealAsymmetric(nil, p, key, good.cert, good.cert, good.key.Public(), 0, 1, 1, nil); err == nil {
				t.Errorf("%v seals with %s", p, name)
			}
			if _, err := SealAsymmetric(nil, p, good.key, good.cert, good.cert, key.Public(), 0, 1, 1, nil); err == nil {
				t.Errorf("%v seals for %s", p, name)
			}
			if _, _, _, err := OpenAsymmetric(h, p, good.key, key.Public(), frame); err != errSecurity {
				t.Errorf("%v opens from %s: %v", p, name, err)
			}
		}
	}
	for _, key := range []any{nil, "no key", ecdh.P256()} {
		wantCode(t, ECCNistP256.CheckKey(key), ua.BadCertificateInvalid)
	}
}

// The ECC policies encrypt nothing with certificates' keys.
func TestECCDoesNotEncryptWithCertificates(t *testing.T) {
	for _, p := range []*Policy{ECCNistP256, ECCNistP384} {
		a := appFor(t, "a", p)
		if _, err := p.Encrypt(a.key.Public(), []byte("x")); err == nil {
			t.Error("encrypted")
		}
		if _, err := p.Decrypt(a.key, make([]byte, 256)); err != errSecurity {
			t.Error(err)
		}
		if _, err := EncryptSecret(p, a.key.Public(), []byte("secret"), pattern(32)); err == nil {
			t.Error("secret encrypted")
		}
		if _, err := DecryptSecret(p, a.key, make([]byte, 256), pattern(32)); err != errSecret {
			t.Error(err)
		}
	}
}
