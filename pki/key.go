package pki

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// KeyType is the kind of key that a certificate of an application has, as Part 12, 7.8.4.4 tells the types of
// application certificates apart. A security policy works with one type.
type KeyType uint8

// The types of keys.
const (
	RSA      KeyType = iota // RsaSha256ApplicationCertificateType
	NistP256                // EccNistP256ApplicationCertificateType
	NistP384                // EccNistP384ApplicationCertificateType

	keyTypes = 3
)

// String returns the type's name, as it stands in the names of files.
func (t KeyType) String() string {
	switch t {
	case RSA:
		return "rsa"
	case NistP256:
		return "nistP256"
	case NistP384:
		return "nistP384"
	}
	return "unknown"
}

// wanted describes the key for who has to provide it.
func (t KeyType) wanted() string {
	if t == RSA {
		return "an RSA key of 2048 to 4096 bits (PKCS#8 or PKCS#1, without a passphrase)"
	}
	return "an ECC key on the curve " + t.curve().Params().Name + " (PKCS#8 or SEC 1, without a passphrase)"
}

// typeOf is the type of a private key that was checked.
func typeOf(key crypto.Signer) KeyType {
	t, _ := KeyTypeOf(key.Public())
	return t
}

func (t KeyType) curve() elliptic.Curve {
	switch t {
	case NistP256:
		return elliptic.P256()
	case NistP384:
		return elliptic.P384()
	}
	return nil
}

// KeyTypeOf returns the type of a public key. It reports false for keys that no application may have.
func KeyTypeOf(key crypto.PublicKey) (KeyType, bool) {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return RSA, true
	case *ecdsa.PublicKey:
		return KeyTypeOfCurve(k.Curve)
	}
	return 0, false
}

// KeyTypeOfCurve returns the type of the keys on a curve.
func KeyTypeOfCurve(curve elliptic.Curve) (KeyType, bool) {
	switch curve {
	case elliptic.P256():
		return NistP256, true
	case elliptic.P384():
		return NistP384, true
	}
	return 0, false
}

// sameKey reports whether two public keys are the same one.
func sameKey(a, b crypto.PublicKey) bool {
	k, ok := a.(interface{ Equal(crypto.PublicKey) bool })
	return ok && k.Equal(b)
}

// checkKey refuses keys that no honest tool makes. It costs nothing, and runs before the first operation
// with the key: an even modulus or an exponent of 1 has hung or fooled implementations. The bounds are those
// of RSA keys; a point that is not on its curve has been refused by crypto/x509.
func checkKey(key crypto.PublicKey, minBits, maxBits int) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		return checkRSA(k, minBits, maxBits)
	case *ecdsa.PublicKey:
		if _, ok := KeyTypeOf(k); !ok {
			return errors.New("ECC key is on another curve than P-256 and P-384")
		}
		return nil
	}
	return errors.New("public key is neither RSA nor ECC")
}

func checkRSA(key *rsa.PublicKey, minBits, maxBits int) error {
	switch bits := key.N.BitLen(); {
	case key.N.Sign() <= 0 || key.N.Bit(0) == 0:
		return errors.New("RSA modulus is not an odd positive number")
	case bits < minBits || bits > maxBits:
		return fmt.Errorf("RSA key has %d bits, allowed are %d to %d", bits, minBits, maxBits)
	case key.E < 3 || key.E%2 == 0 || key.E > 1<<31-1:
		return fmt.Errorf("RSA exponent %d is out of range", key.E)
	}
	return nil
}

// warnOpenKey tells of a private key that others on the machine can read.
func warnOpenKey(cfg *Config, path string) {
	if runtime.GOOS == "windows" {
		return // there, the mode says nothing about who may read
	}
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o077 != 0 {
		cfg.Logger.Warn().Str("file", path).Stringer("mode", info.Mode().Perm()).Msg("the private key is readable by others: chmod 600")
	}
}

// newKey makes a private key of the type; bits are those of an RSA key.
func newKey(t KeyType, bits int) (crypto.Signer, error) {
	if curve := t.curve(); curve != nil {
		return ecdsa.GenerateKey(curve, rand.Reader)
	}
	return rsa.GenerateKey(rand.Reader, bits)
}

// createKey makes a private key and stores it as PKCS#8, readable by the owner only.
func createKey(path string, t KeyType, bits int) error {
	key, err := newKey(t, bits)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := writeNew(path, content, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// readKey reads a PKCS#8, PKCS#1 or SEC 1 key, as DER or PEM.
func readKey(path string) (crypto.Signer, error) {
	content, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parseKey(content)
}

func parseKey(content []byte) (crypto.Signer, error) {
	if bytes.Contains(content, []byte("ENCRYPTED")) && bytes.Contains(content, []byte("-----BEGIN ")) {
		return nil, errors.New("the private key is encrypted: store it without a passphrase, protected by the file's permissions")
	}
	ders, err := decodeFile(content, "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	if len(ders) != 1 {
		return nil, errors.New("more than one private key")
	}
	key, err := decodeKey(ders[0])
	if err != nil {
		return nil, err
	}
	if err := checkKey(key.Public(), minKeyBits, maxKeyBits); err != nil {
		return nil, err
	}
	return key, nil
}

func decodeKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		switch key := key.(type) {
		case *rsa.PrivateKey:
			return key, nil
		case *ecdsa.PrivateKey:
			return key, nil
		}
		return nil, errors.New("neither an RSA nor an ECC key")
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	return nil, errors.New("none of a PKCS#8, a PKCS#1 and a SEC 1 key")
}
