package uasc

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha1"
	"encoding/asn1"
	"encoding/binary"
)

// MaxPolicyURILength is the standard's bound on the policy URI in an OPN (Part
// 6, 6.7.2.3).
const MaxPolicyURILength = 255

// thumbprintSize is the length of a certificate's SHA-1 thumbprint.
const thumbprintSize = sha1.Size

// OpenHeader is the part of an OPN chunk that is readable without a key, but
// also unproven: everything in it may be a stranger's invention.
type OpenHeader struct {
	ChannelID          uint32
	PolicyURI          string // empty when absent
	SenderCertificate  []byte // chain, leaf first; aliases the chunk; nil when absent
	ReceiverThumbprint []byte // 20 bytes, SHA-1 of the certificate encrypted for; aliases the chunk; nil when absent

	start int // of the sequence header, where encryption starts
}

// ParseOpen reads the plain header of a whole OPN chunk. It is cheap and does no
// cryptography, so that a policy not offered, a foreign thumbprint or an
// untrusted certificate can be refused before any RSA operation.
func ParseOpen(chunk []byte) (OpenHeader, error) {
	r, err := frameReader(chunk, TypeOpen)
	if err != nil {
		return OpenHeader{}, err
	}
	h := OpenHeader{ChannelID: r.uint32()}
	uri := r.bytes()
	h.SenderCertificate = orNil(r.bytes())
	h.ReceiverThumbprint = orNil(r.bytes())
	switch {
	case r.bad || len(r.b) < 8:
		return OpenHeader{}, errTruncated
	case len(uri) > MaxPolicyURILength:
		return OpenHeader{}, errPolicyURI
	case len(h.SenderCertificate) > MaxCertificateLength:
		return OpenHeader{}, errCertificate
	case h.ReceiverThumbprint != nil && len(h.ReceiverThumbprint) != thumbprintSize:
		return OpenHeader{}, errThumbprint
	}
	h.PolicyURI = policyURI(uri)
	h.start = len(chunk) - len(r.b)
	return h, nil
}

// policyURI returns the known policy's own string where there is one, so that
// channels do not hold copies.
func policyURI(b []byte) string {
	for _, p := range policies {
		if string(b) == p.URI {
			return p.URI
		}
	}
	return string(b)
}

// orNil makes no difference between an empty and an absent field, as Part 6,
// 6.7.2.3 has it for all three.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// IsFor reports whether the sender encrypted for the certificate with this
// thumbprint. Where it is not one of ours, Part 6, 6.7.7 wants
// BadCertificateInvalid.
func (h *OpenHeader) IsFor(thumbprint []byte) bool {
	return len(thumbprint) == thumbprintSize && bytes.Equal(h.ReceiverThumbprint, thumbprint)
}

// OpenAsymmetric decrypts and verifies the OPN chunk whose header is h; under the
// ECC policies, which encrypt none, it only verifies. p is the policy that h names
// and that the caller has found acceptable, key is our own, senderPub the key of
// h's leaf certificate. chunk is left as it was; body is a
// copy unless the policy is None.
//
// The caller then checks seq with Opener.AcceptSequence. Missing certificate
// fields are BadCertificateInvalid, since they are plain to see; everything
// else is the same BadSecurityChecksFailed after the same work.
func OpenAsymmetric(h OpenHeader, p *Policy, key crypto.Signer, senderPub crypto.PublicKey, chunk []byte) (seq, requestID uint32, body []byte, err error) {
	if h.PolicyURI != p.URI && (p.Secure() || h.PolicyURI != "") {
		return 0, 0, nil, errPolicy
	}
	if h.start < headerSize || h.start > len(chunk)-8 {
		return 0, 0, nil, errTruncated
	}
	plain := chunk[h.start:]
	if p.Secure() {
		if h.SenderCertificate == nil {
			return 0, 0, nil, errCertificate
		}
		if h.ReceiverThumbprint == nil {
			return 0, 0, nil, errThumbprint
		}
		if plain, err = openPlain(h, p, key, senderPub, chunk); err != nil {
			return 0, 0, nil, err
		}
	}
	return binary.LittleEndian.Uint32(plain), binary.LittleEndian.Uint32(plain[4:]), plain[8:], nil
}

// openPlain returns the sequence header and body of a secured OPN.
func openPlain(h OpenHeader, p *Policy, key crypto.Signer, senderPub crypto.PublicKey, chunk []byte) ([]byte, error) {
	signature := p.SignatureSize(senderPub)
	if signature == 0 {
		return nil, errSecurity
	}
	if !p.Encrypts() {
		end := len(chunk) - signature
		if end < h.start+8 || p.Verify(senderPub, chunk[end:], chunk[:end]) != nil {
			return nil, errSecurity
		}
		return bytes.Clone(chunk[h.start:end]), nil
	}
	plain, decrypted := p.decrypt(key, chunk[h.start:])
	extra := 0
	if key != nil {
		extra = extraPadding(key.Public())
	}
	if len(plain) < 8+1+extra+signature {
		return nil, errSecurity
	}
	end := len(plain) - signature
	verified := p.Verify(senderPub, plain[end:], chunk[:h.start], plain[:end]) == nil
	if !decrypted || !verified {
		return nil, errSecurity
	}
	plain = plain[:end]
	low, pad := plain[end-1], int(plain[end-1])
	if extra != 0 {
		// PaddingSize, the padding, then the high byte of the size.
		low = plain[end-2]
		pad = int(low) | int(plain[end-1])<<8
	}
	size := end - extra - pad - 1
	if size < 8 {
		return nil, errSecurity
	}
	for _, b := range plain[size : end-extra] {
		if b != low {
			return nil, errSecurity
		}
	}
	return plain[:size], nil
}

// extraPadding returns 1 if padding for a receiver's key has the second size
// byte that keys of more than 2,048 bits need (Part 6, 6.7.2.5).
func extraPadding(pub crypto.PublicKey) int {
	if k, ok := pub.(*rsa.PublicKey); ok && k.Size() > 256 {
		return 1
	}
	return 0
}

// SealAsymmetric appends a whole OPN frame around body. key and localCert are
// the sender's, localCert being its chain, leaf first; remoteCert and remotePub
// are the receiver's leaf and its key. All four are ignored under None.
//
// A chain with which the frame would not fit into the smallest buffer that can
// have been negotiated is cut to its leaf.
func SealAsymmetric(dst []byte, p *Policy, key crypto.Signer, localCert, remoteCert []byte, remotePub crypto.PublicKey, channelID, seq, requestID uint32, body []byte) ([]byte, error) {
	if !p.Secure() {
		mark := len(dst)
		dst = appendOpenHeader(dst, p, nil, nil, channelID)
		dst = appendSizes(dst, seq, requestID)
		dst = append(dst, body...)
		binary.LittleEndian.PutUint32(dst[mark+4:], uint32(len(dst)-mark))
		return dst, nil
	}
	if err := p.CheckKey(remotePub); err != nil {
		return dst, err
	}
	ownPub := key.Public()
	if err := p.CheckKey(ownPub); err != nil {
		return dst, err
	}
	if len(localCert) == 0 || len(localCert) > MaxCertificateLength || len(remoteCert) == 0 {
		return dst, errCertificate
	}
	used := 8 + len(body) + p.SignatureSize(ownPub)
	sealed, pad, extra := used, 0, 0
	if p.Encrypts() {
		keySize := remotePub.(*rsa.PublicKey).Size()
		block := p.plainBlock(keySize)
		extra = extraPadding(remotePub)
		used += 1 + extra
		pad = (block - used%block) % block
		sealed = (used + pad) / block * keySize
	}

	thumbprint := Thumbprint(remoteCert)
	mark := len(dst)
	dst = appendOpenHeader(dst, p, localCert, thumbprint[:], channelID)
	if len(dst)-mark+sealed > MinBufferSize {
		leaf, _, err := firstCertificate(localCert)
		if err != nil {
			return dst[:mark], err
		}
		dst = appendOpenHeader(dst[:mark], p, leaf, thumbprint[:], channelID)
	}
	binary.LittleEndian.PutUint32(dst[mark+4:], uint32(len(dst)-mark+sealed))

	plain := make([]byte, 0, used+pad)
	plain = appendSizes(plain, seq, requestID)
	plain = append(plain, body...)
	if p.Encrypts() {
		for range pad + 1 {
			plain = append(plain, byte(pad))
		}
		if extra != 0 {
			plain = append(plain, byte(pad>>8))
		}
	}
	sig, err := p.Sign(key, dst[mark:], plain)
	if err != nil {
		return dst[:mark], err
	}
	plain = append(plain, sig...)
	if !p.Encrypts() {
		return append(dst, plain...), nil
	}
	out, err := p.Encrypt(remotePub, plain)
	if err != nil {
		return dst[:mark], err
	}
	return append(dst, out...), nil
}

// appendOpenHeader appends all that precedes the sequence header, the frame's
// size still to be filled in.
func appendOpenHeader(dst []byte, p *Policy, cert, thumbprint []byte, channelID uint32) []byte {
	dst = appendHeader(dst, TypeOpen, ChunkFinal, 0)
	dst = binary.LittleEndian.AppendUint32(dst, channelID)
	dst = appendText(dst, p.URI)
	dst = appendField(dst, cert)
	return appendField(dst, thumbprint)
}

// appendField writes a ByteString, null when it is empty.
func appendField(dst, b []byte) []byte {
	if len(b) == 0 {
		return appendText(dst, "")
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(b)))
	return append(dst, b...)
}

// Thumbprint returns the SHA-1 thumbprint by which the standard refers to a
// certificate. der may be a chain; its first certificate counts.
func Thumbprint(der []byte) [sha1.Size]byte {
	if leaf, _, err := firstCertificate(der); err == nil {
		der = leaf
	}
	return sha1.Sum(der)
}

// SplitChain cuts a SenderCertificate into its certificates, leaf first, without
// parsing them. More than MaxChainLength of them, more than
// MaxCertificateLength bytes, nothing, or bytes that are no DER sequence are
// BadCertificateInvalid. The certificates alias chain.
func SplitChain(chain []byte) ([][]byte, error) {
	if len(chain) == 0 || len(chain) > MaxCertificateLength {
		return nil, errCertificate
	}
	var certs [][]byte
	for len(chain) > 0 {
		if len(certs) == MaxChainLength {
			return nil, errCertificate
		}
		cert, rest, err := firstCertificate(chain)
		if err != nil {
			return nil, err
		}
		certs = append(certs, cert)
		chain = rest
	}
	return certs, nil
}

func firstCertificate(chain []byte) (cert, rest []byte, err error) {
	var raw asn1.RawValue
	rest, err = asn1.Unmarshal(chain, &raw)
	if err != nil || raw.Tag != asn1.TagSequence || raw.Class != asn1.ClassUniversal || !raw.IsCompound {
		return nil, nil, errCertificate
	}
	return raw.FullBytes, rest, nil
}
