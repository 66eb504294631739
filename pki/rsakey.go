package pki

import (
	"crypto/rsa"
	"fmt"
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
