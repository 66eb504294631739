package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// checkKey refuses RSA keys that no honest tool makes. It costs nothing, and runs before the first
// operation with the key: an even modulus or an exponent of 1 has hung or fooled implementations.
func checkKey(key *rsa.PublicKey, minBits, maxBits int) error {
	switch bits := key.N.BitLen(); {
	case key.N.Sign() <= 0 || key.N.Bit(0) == 0:
		return fmt.Errorf("RSA modulus is not an odd positive number")
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

// createKey makes the private key and stores it as PKCS#8, readable by the owner only.
func createKey(dir string, bits int) (string, error) {
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		return "", err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, ownKeyNames[0])
	content := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	if err := writeNew(path, content, 0o600); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, nil
}

// readKey reads a PKCS#8 or PKCS#1 key, as DER or PEM.
func readKey(path string) (*rsa.PrivateKey, error) {
	content, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return parseKey(content)
}

func parseKey(content []byte) (*rsa.PrivateKey, error) {
	if bytes.Contains(content, []byte("ENCRYPTED")) && bytes.Contains(content, []byte("-----BEGIN ")) {
		return nil, errors.New("the private key is encrypted: store it without a passphrase, protected by the file's permissions")
	}
	ders, err := decodeFile(content, "PRIVATE KEY", "RSA PRIVATE KEY")
	if err != nil {
		return nil, err
	}
	if len(ders) != 1 {
		return nil, errors.New("more than one private key")
	}
	var key *rsa.PrivateKey
	if anyKey, err8 := x509.ParsePKCS8PrivateKey(ders[0]); err8 == nil {
		var ok bool
		if key, ok = anyKey.(*rsa.PrivateKey); !ok {
			return nil, errors.New("not an RSA key")
		}
	} else if key, err = x509.ParsePKCS1PrivateKey(ders[0]); err != nil {
		return nil, errors.New("neither a PKCS#8 nor a PKCS#1 RSA key")
	}
	if err := checkKey(&key.PublicKey, minKeyBits, maxKeyBits); err != nil {
		return nil, err
	}
	return key, nil
}
