package uasc

import (
	"bytes"
	"crypto"
	"crypto/aes"
	"crypto/cipher"
	"time"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// SealECCSecret protects a secret as an EccEncryptedSecret (Part 4, 7.40.2.5; Part
// 6, 6.8.3). receiver is the ephemeral key that the server gave for it, whose
// signature the caller has verified; key signs, and chain is its certificate with
// those of its issuers. A receiver that is no key of the policy is
// BadNonceInvalid.
func SealECCSecret(p *Policy, key crypto.Signer, chain, receiver, secret, serverNonce []byte) ([]byte, error) {
	if p.agree == nil {
		return nil, errPolicy
	}
	if len(secret) > MaxEncryptedSecret {
		return nil, errSecretTooLong
	}
	share := p.NewShare()
	payload := sealPayload(secret, serverNonce, p.block)
	if err := p.cryptSecret(payload, &share, receiver, true, cipher.NewCBCEncrypter); err != nil {
		clear(payload)
		return nil, err
	}
	keyData := codec.AppendBytes(codec.AppendBytes(nil, share.Nonce), receiver)

	var rest []byte
	rest = codec.AppendStringValue(rest, p.URI)
	rest = codec.AppendBytes(rest, chain)
	rest = codec.AppendInt64(rest, int64(ua.DateTimeOf(time.Now())))
	rest = codec.AppendUint16(rest, uint16(len(keyData)))
	rest = append(append(rest, keyData...), payload...)

	out := ua.NumericID(0, id.EccEncryptedSecret).AppendTo(nil)
	out = append(out, byte(ua.EncodingBinary))
	out = codec.AppendUint32(out, uint32(len(rest)+p.SignatureSize(key.Public())))
	out = append(out, rest...)
	sig, err := p.Sign(key, out)
	if err != nil {
		return nil, err
	}
	return append(out, sig...), nil
}

// OpenECCSecret takes apart what SealECCSecret made. own is the server's ephemeral
// key for it, sender the DER of the client's certificate, with its key, and nonce
// the last one that the server gave to this session. The signature is verified
// before anything is decrypted.
//
// Every failure is the same BadIdentityTokenRejected, as in [DecryptSecret].
func OpenECCSecret(p *Policy, own *Share, sender []byte, senderPub crypto.PublicKey, data, nonce []byte) ([]byte, error) {
	signature := p.SignatureSize(senderPub)
	if p.agree == nil || own == nil || signature == 0 || len(nonce) == 0 || len(data) > MaxEncryptedSecret+MaxCertificateLength+4<<10 {
		return nil, errSecret
	}
	header, ok := readSecretHeader(data)
	if !ok || header.kind != ECCSecret || header.policy != p.URI {
		return nil, errSecret
	}
	// The field may be empty, since the channel has told whose key it is.
	if len(header.certificate) > 0 {
		if leaf, _, err := firstCertificate(header.certificate); err != nil || !bytes.Equal(leaf, sender) {
			return nil, errSecret
		}
	}
	var d codec.Decoder
	d.Reset(header.keyData, nil)
	d.Alias(true)
	remote, receiver := d.Bytes(), d.Bytes()
	if d.Err() != nil || d.Remaining() != 0 || !bytes.Equal(receiver, own.Nonce) {
		return nil, errSecret
	}
	sealed := len(header.payload) - signature
	if sealed < p.block || sealed%p.block != 0 {
		return nil, errSecret
	}
	if p.Verify(senderPub, header.payload[sealed:], data[:len(data)-signature]) != nil {
		return nil, errSecret
	}
	payload := bytes.Clone(header.payload[:sealed])
	defer clear(payload)
	if p.cryptSecret(payload, own, remote, false, cipher.NewCBCDecrypter) != nil {
		return nil, errSecret
	}
	return openPayload(payload, nonce)
}

// cryptSecret encrypts or decrypts whole blocks in place with the key that local
// and the owner of remote agree on for a secret. Who seals is the sender.
func (p *Policy) cryptSecret(blocks []byte, local *Share, remote []byte, seals bool, newCBC func(cipher.Block, []byte) cipher.BlockMode) error {
	common, err := local.secret(p, remote)
	if err != nil {
		return err
	}
	defer clear(common)
	sender, receiver := local.Nonce, remote
	if !seals {
		sender, receiver = receiver, sender
	}
	keys, err := agreed(p.derive, p.encryptionKey+p.block, common, labelSecret, sender, receiver)
	if err != nil {
		return errPolicy
	}
	defer clear(keys)
	block, err := aes.NewCipher(keys[:p.encryptionKey])
	if err != nil {
		return errPolicy
	}
	newCBC(block, keys[p.encryptionKey:]).CryptBlocks(blocks, blocks)
	return nil
}
