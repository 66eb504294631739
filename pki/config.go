package pki

import (
	"crypto/rsa"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/rs/zerolog"
)

// Config says where a store is and whom its certificate is for.
type Config struct {
	// Dir is the store's folder. It is made when missing. [Memory] ignores it.
	Dir string
	// ApplicationURI is what the application is called worldwide. It stands in its certificate. It may be
	// empty if there is a certificate already, whose URI then counts.
	ApplicationURI string
	// ApplicationName is the common name in a certificate that is made. Default: ApplicationURI.
	ApplicationName string
	// Organization is who runs the application, in a certificate that is made. Default: left out.
	Organization string
	// Hosts are the DNS names and addresses under which the application is reached, in a certificate that
	// is made: names alone, without scheme and port. Default: localhost and the host's name.
	Hosts []string
	// KeyBits is the size of a key that is made: 2048 (the default), 3072 or 4096. A larger key makes every
	// new channel cost several times the work.
	KeyBits int
	// KeyTypes are the types of keys for which the application has certificates beside that of RSA, which it
	// always has: [NistP256] for the security policy ECC_nistP256, [NistP384] for ECC_nistP384. Peers have to
	// trust each of the certificates. Default: none.
	KeyTypes []KeyType
	// Logger receives refusals and changes. Default: none.
	Logger zerolog.Logger
	// AcceptAll accepts every application whose certificate can be parsed, trusted or not, and logs each.
	// It is for demonstrations: anybody can then pose as anybody. Users are not covered. Servers set it
	// with the field TrustAll of their own configuration.
	AcceptAll bool
	// AcceptMissingCRL accepts certificates of an authority for which there is no current revocation list.
	// The default refuses them, because a stolen key could not be told from a good one.
	AcceptMissingCRL bool

	// Key is the private RSA key to use in a memory store, so that tests need not make one each time.
	// Default: a new one.
	Key *rsa.PrivateKey
}

// What a [ConfigError] is about.
const (
	FieldDir            = "Dir"            // Config.Dir: a folder that cannot be made, read or written
	FieldApplicationURI = "ApplicationURI" // Config.ApplicationURI: malformed, or not that of the certificate
	FieldHosts          = "Hosts"          // an entry of Config.Hosts
	FieldKeyBits        = "KeyBits"        // Config.KeyBits
	FieldKeyTypes       = "KeyTypes"       // Config.KeyTypes
	FieldKey            = "Key"            // the file of the application's private key, in own/
	FieldCertificate    = "Certificate"    // the file of the application's certificate, in own/
)

// ConfigError says why [Open] or [Memory] failed, and what to do about it. It names a field of [Config],
// or one of the two files that are the application's own.
type ConfigError struct {
	// Field is one of the Field constants.
	Field string
	// Value is what stands there: for a file its path.
	Value string
	// Problem says what is wrong with it.
	Problem string
	// Instead says what to do.
	Instead string
	// Err is the cause; it may be nil.
	Err error
}

// Error implements error.
func (e *ConfigError) Error() string {
	text := "pki: "
	switch e.Field {
	case FieldKey, FieldCertificate:
		text += e.Value
	default:
		text += fmt.Sprintf("%s %q", e.Field, e.Value)
	}
	return text + ": " + e.Problem + ": " + e.Instead
}

// Unwrap returns the cause, if there is one.
func (e *ConfigError) Unwrap() error { return e.Err }

// dirError is the error of a folder or a file that the operating system does not let us use.
func dirError(cfg *Config, err error) error {
	return &ConfigError{
		Field: FieldDir, Value: cfg.Dir, Problem: err.Error(), Err: err,
		Instead: "name a folder that can be read and written",
	}
}

func (c *Config) setDefaults() error {
	if c.KeyBits == 0 {
		c.KeyBits = 2048
	}
	switch c.KeyBits {
	case 2048, 3072, 4096:
	default:
		return &ConfigError{
			Field: FieldKeyBits, Value: fmt.Sprint(c.KeyBits), Problem: "no size of a key that peers accept",
			Instead: "use 2048, 3072 or 4096",
		}
	}
	for _, t := range c.KeyTypes {
		if t >= keyTypes {
			return &ConfigError{
				Field: FieldKeyTypes, Value: fmt.Sprint(uint8(t)), Problem: "no type of key that this package has",
				Instead: "use NistP256 or NistP384",
			}
		}
	}
	c.KeyTypes = slices.Compact(slices.Sorted(slices.Values(append([]KeyType{RSA}, c.KeyTypes...))))
	if c.Hosts == nil {
		c.Hosts = defaultHosts()
	}
	for _, host := range c.Hosts {
		if problem := checkHost(host); problem != "" {
			return &ConfigError{
				Field: FieldHosts, Value: host, Problem: problem,
				Instead: "write a name or an address alone, such as plant.example or 192.0.2.1",
			}
		}
	}
	return nil
}

// checkHost returns what keeps a peer from finding the host in a certificate, "" when nothing does.
func checkHost(host string) string {
	if host == "" {
		return "is empty"
	}
	if net.ParseIP(strings.Trim(host, "[]")) != nil {
		return ""
	}
	switch {
	case strings.Contains(host, "://"):
		return "has a scheme"
	case strings.Contains(host, ":"):
		return "has a port or is no address"
	case strings.Contains(host, "*"):
		return "has a wildcard, which peers do not understand"
	case len(host) > 253:
		return "is longer than the 253 characters of a DNS name"
	}
	for _, r := range host {
		if r > 0x7e {
			return "has a character that a certificate cannot hold (international names begin with xn-- there)"
		}
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r) {
			return fmt.Sprintf("has the character %q", r)
		}
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return "is no DNS name: between its dots are 1 to 63 characters"
		}
	}
	return ""
}
