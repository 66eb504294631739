package uasc

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/subtle"
	"encoding/binary"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// MaxEncryptedSecret bounds the secret in an EncryptedSecret, which may be an
// issued token with a list of its user's groups.
const MaxEncryptedSecret = 32 << 10

// SecretKind tells the formats of a protected secret apart.
type SecretKind uint8

// The formats of a protected secret (Part 4, 7.40.2).
const (
	// LegacySecret is what EncryptSecret makes, and whatever begins with no
	// TypeId that is known (Part 4, 7.40.2.3).
	LegacySecret SecretKind = iota
	RSASecret               // RsaEncryptedSecret
	ECCSecret               // EccEncryptedSecret
)

// SecretKindOf looks at the TypeId with which an EncryptedSecret begins.
func SecretKindOf(data []byte) SecretKind {
	var d codec.Decoder
	d.Reset(data, nil)
	var typeID ua.NodeID
	typeID.DecodeFrom(&d)
	switch {
	case d.Err() != nil:
	case typeID == ua.NumericID(0, id.RsaEncryptedSecret):
		return RSASecret
	case typeID == ua.NumericID(0, id.EccEncryptedSecret):
		return ECCSecret
	}
	return LegacySecret
}

// SealRSASecret protects a secret as an RsaEncryptedSecret (Part 4, 7.40.2.4): the
// keys that sign and encrypt it are encrypted for the owner of certificate, which
// is the DER of that certificate alone. Unlike EncryptSecret it signs, and has
// room for secrets of any length up to [MaxEncryptedSecret].
func SealRSASecret(p *Policy, pub crypto.PublicKey, certificate, secret, serverNonce []byte) ([]byte, error) {
	if p.padding != paddingOAEP {
		return nil, errPolicy
	}
	if len(secret) > MaxEncryptedSecret {
		return nil, errSecretTooLong
	}
	keys := make([]byte, p.signingKey+p.encryptionKey+p.block)
	rand.Read(keys)
	defer clear(keys)
	signing, encrypting, iv := p.splitKeys(keys)
	plain := codec.AppendBytes(codec.AppendBytes(codec.AppendBytes(nil, signing), encrypting), iv)
	keyData, err := p.Encrypt(pub, plain)
	clear(plain)
	if err != nil {
		return nil, err
	}
	payload := sealPayload(secret, serverNonce, p.block)
	block, err := aes.NewCipher(encrypting)
	if err != nil {
		return nil, errPolicy
	}
	cipher.NewCBCEncrypter(block, iv).CryptBlocks(payload, payload)

	thumbprint := sha1.Sum(certificate)
	var rest []byte
	rest = codec.AppendStringValue(rest, p.URI)
	rest = codec.AppendBytes(rest, thumbprint[:])
	rest = codec.AppendInt64(rest, int64(ua.DateTimeOf(time.Now())))
	rest = codec.AppendUint16(rest, uint16(len(keyData)))
	rest = append(append(rest, keyData...), payload...)

	out := ua.NumericID(0, id.RsaEncryptedSecret).AppendTo(nil)
	out = append(out, byte(ua.EncodingBinary))
	out = codec.AppendUint32(out, uint32(len(rest)+p.signature))
	out = append(out, rest...)
	mac := hmac.New(p.mac.new, signing)
	mac.Write(out)
	return mac.Sum(out), nil
}

// OpenRSASecret takes apart what SealRSASecret made. nonce is the last one that
// the server gave to this session, certificate the DER of the server's own.
//
// Every failure is the same BadIdentityTokenRejected, as in [DecryptSecret].
func OpenRSASecret(p *Policy, key crypto.Signer, certificate, data, nonce []byte) ([]byte, error) {
	if p.padding != paddingOAEP || len(nonce) == 0 || len(data) > MaxEncryptedSecret+8<<10 {
		return nil, errSecret
	}
	header, ok := readSecretHeader(data)
	thumbprint := sha1.Sum(certificate)
	if !ok || header.kind != RSASecret || header.policy != p.URI || !bytes.Equal(header.certificate, thumbprint[:]) {
		return nil, errSecret
	}
	if len(header.payload) < p.signature+p.block || (len(header.payload)-p.signature)%p.block != 0 {
		return nil, errSecret
	}
	payload, mac := header.payload[:len(header.payload)-p.signature], header.payload[len(header.payload)-p.signature:]

	// What cannot be decrypted is replaced by zeros, whose MAC is not the one
	// that was sent: the way of both is the same.
	plain, decrypted := p.decrypt(key, header.keyData)
	defer clear(plain)
	keys, whole := readSecretKeys(plain, p)
	defer clear(keys)
	signing, encrypting, iv := p.splitKeys(keys)
	own := hmac.New(p.mac.new, signing)
	own.Write(data[:len(data)-p.signature])
	if !hmac.Equal(own.Sum(nil), mac) || !decrypted || !whole {
		return nil, errSecret
	}
	block, err := aes.NewCipher(encrypting)
	if err != nil {
		return nil, errSecret
	}
	opened := make([]byte, len(payload))
	defer clear(opened)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(opened, payload)
	return openPayload(opened, nonce)
}

// splitKeys cuts key material into its parts.
func (p *Policy) splitKeys(keys []byte) (signing, encrypting, iv []byte) {
	return keys[:p.signingKey], keys[p.signingKey : p.signingKey+p.encryptionKey], keys[p.signingKey+p.encryptionKey:]
}

// readSecretKeys reads the three ByteStrings of the decrypted KeyData. The result
// has the right length in any case.
func readSecretKeys(plain []byte, p *Policy) (keys []byte, ok bool) {
	keys = make([]byte, p.signingKey+p.encryptionKey+p.block)
	var d codec.Decoder
	d.Reset(plain, nil)
	d.Alias(true)
	ok = true
	rest := keys
	for _, size := range []int{p.signingKey, p.encryptionKey, p.block} {
		if copied := copy(rest[:size], d.Bytes()); copied != size {
			ok = false
		}
		rest = rest[size:]
	}
	return keys, ok && d.Err() == nil && d.Remaining() == 0
}

// secretHeader is the common header of an EncryptedSecret (Part 4, 7.40.2.3) and
// what follows it. All slices lie in the data that was read.
type secretHeader struct {
	kind        SecretKind
	policy      string
	certificate []byte
	signed      ua.DateTime
	keyData     []byte
	payload     []byte // the encrypted payload and the signature
}

// readSecretHeader reads the header. The stated length must be that of the data.
func readSecretHeader(data []byte) (h secretHeader, ok bool) {
	var d codec.Decoder
	d.Reset(data, nil)
	d.Alias(true)
	h.kind = SecretKindOf(data)
	var typeID ua.NodeID
	typeID.DecodeFrom(&d)
	encoding, length := d.Uint8(), d.Uint32()
	if h.kind == LegacySecret || encoding != byte(ua.EncodingBinary) || uint64(length) != uint64(d.Remaining()) {
		return h, false
	}
	h.policy = d.String()
	h.certificate = d.Bytes()
	h.signed = ua.DateTime(d.Int64())
	h.keyData = d.Raw(int(d.Uint16()))
	h.payload = d.Rest()
	return h, d.Err() == nil
}

// sealPayload lays out the payload of an EncryptedSecret and pads it to whole
// blocks; a short secret gets a block more, so that its length does not show
// (Part 6, 6.8.3).
func sealPayload(secret, nonce []byte, block int) []byte {
	payload := codec.AppendBytes(codec.AppendBytes(nil, nonce), secret)
	padding := 0
	if over := (len(payload) + 2) % block; over != 0 {
		padding = block - over
	}
	if padding+len(secret) < block {
		padding += block
	}
	payload = append(payload, bytes.Repeat([]byte{byte(padding)}, padding)...)
	return codec.AppendUint16(payload, uint16(padding))
}

// openPayload takes a decrypted payload apart. Its signature has been verified.
func openPayload(payload, nonce []byte) ([]byte, error) {
	if len(payload) < 2 {
		return nil, errSecret
	}
	padding := int(binary.LittleEndian.Uint16(payload[len(payload)-2:]))
	body := payload[:len(payload)-2]
	if padding > len(body) {
		return nil, errSecret
	}
	for _, b := range body[len(body)-padding:] {
		if b != byte(padding) {
			return nil, errSecret
		}
	}
	var d codec.Decoder
	d.Reset(body[:len(body)-padding], nil)
	d.Alias(true)
	got, secret := d.Bytes(), d.Bytes()
	if d.Err() != nil || d.Remaining() != 0 || len(secret) > MaxEncryptedSecret || subtle.ConstantTimeCompare(got, nonce) != 1 {
		return nil, errSecret
	}
	// A copy, and not nil for an empty secret.
	return append(make([]byte, 0, len(secret)), secret...), nil
}
