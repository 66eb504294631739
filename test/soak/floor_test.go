//go:build soak

package soak

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"testing"
)

// What it takes at least to establish a session with a 2048-bit key, on either
// side. A message that opens a channel is longer than one block of OAEP, so that
// each side decrypts two blocks of the other's; it signs its own, and something
// in CreateSession or ActivateSession: 4 private operations (Part 4, 5.6.2, 5.7.2
// and 5.7.3; Part 6, 6.7.4). Public ones are as many: two blocks to encrypt and
// two signatures to verify.
func BenchmarkSecuringASession(b *testing.B) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		b.Fatal(err)
	}
	digest := sha256.Sum256([]byte("what is signed"))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	if err != nil {
		b.Fatal(err)
	}
	block := make([]byte, 214) // the most that OAEP with SHA-1 takes at once
	secret, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, &key.PublicKey, block, nil)
	if err != nil {
		b.Fatal(err)
	}
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	sign := func() { _, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:]); check(err) }
	decrypt := func() { _, err := rsa.DecryptOAEP(sha1.New(), nil, key, secret, nil); check(err) }
	encrypt := func() { _, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, &key.PublicKey, block, nil); check(err) }
	verify := func() { check(rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, digest[:], signature)) }
	for _, c := range []struct {
		name string
		run  func()
	}{
		{"sign", sign},
		{"decrypt", decrypt},
		{"encrypt", encrypt},
		{"verify", verify},
		{"one-side", func() {
			for range 2 {
				sign()
				decrypt()
				encrypt()
				verify()
			}
		}},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				c.run()
			}
		})
		if c.name != "one-side" {
			continue
		}
		// Both cores at work, as they are when clients share the machine.
		b.Run("one-side-on-all-cores", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					c.run()
				}
			})
		})
	}
}
