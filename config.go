package uahive

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Config says what a server is and what it offers. The zero value works: it
// serves on port 4840 with the three secure policies, makes a certificate in
// ./pki on the first start, and admits anonymous users of trusted clients.
type Config struct {
	// Endpoint is the address to listen on and what clients are told before
	// they say how they reach the server. A host of "0.0.0.0", "::" or none
	// listens on all addresses; clients then see the name of the machine.
	// Default "opc.tcp://:4840".
	Endpoint string
	// ApplicationURI is the server's worldwide name. It stands in the
	// certificate, and is the URI of namespace 1. Default "urn:<host name>:uahive".
	ApplicationURI string
	// ApplicationName is shown to people. Default "uahive".
	ApplicationName string
	// ProductURI names the product. Default "urn:uahive".
	ProductURI string
	// Build is shown under ServerStatus.BuildInfo.
	Build BuildInfo

	// PKI is the folder of certificates: own, trusted, issuer, rejected. It is
	// made when missing, with a new certificate. Default "pki". "memory" keeps a
	// certificate that lasts as long as the process, for tests.
	PKI string
	// Hosts are names and addresses under which the server is reached, for a
	// certificate that is made. Default: localhost, the name of the machine, and
	// the host of Endpoint.
	Hosts []string
	// TrustAll accepts every client application, trusted or not. It is for
	// demonstrations and tests, and logged loudly.
	TrustAll bool

	// NoPushManagement leaves out the methods with which administrators change trust lists and certificates over
	// the network (Part 12, 7.10). The default offers them, only to sessions with the role SecurityAdmin (see
	// Roles and [User.Roles]) over channels that sign and encrypt: where nobody has that role, nobody can call
	// them.
	NoPushManagement bool

	// Security lists what clients may choose from. Default [SecurePolicies].
	// Add [NoSecurity] to let clients in without any, [ECCPolicies] to have
	// elliptic curves beside RSA.
	Security []Security
	// Anonymous admits users who do not say who they are. Default: only where
	// there are no Identities. Authenticate is not asked about them.
	Anonymous bool
	// Identities lists how users may say who they are, in the order in which
	// clients see it. Default: [UserNames] where Authenticate is set, else none.
	Identities []Identity
	// Authenticate decides about users of every kind in Identities, on the worker
	// pool. Its error refuses the user; the reason stays in the log. It is needed
	// for user names and issued tokens, whose secrets only the program can check.
	// Refused logins are slowed down, see [sessionactor.Limits] under BadLogins.
	Authenticate func(ctx context.Context, c Credentials) (*User, error)

	// Roles say who has which role, beside what Authenticate says: administrators
	// on an encrypted channel can change them while the server runs. Default: only
	// Authenticate gives roles, which [User.Roles] has.
	Roles []RoleMapping
	// SaveRoles keeps what administrators changed, to be given as Roles when the
	// program starts again. An error leaves everything as it was; the administrator
	// is told BadResourceUnavailable, and the log why. nil: a restart forgets it.
	SaveRoles func(roles []RoleMapping) error

	// Limits bounds what clients can take. Zero fields take their defaults.
	Limits Limits
	// Workers is the number of calls into the program's own code that run at
	// once. Default 64.
	Workers int
	// ShutdownDelay is how long clients are told that the server shuts down
	// before it does; 0 stands for one second, a negative value for none. It is
	// at most 3 s.
	ShutdownDelay time.Duration
	// Hooks are told what becomes of connections, sessions and subscriptions.
	Hooks Hooks
	// Auditing keeps an audit trail: who opened channels and sessions, whose login or
	// certificate was refused, who wrote what and called which method (Part 4, 6.5).
	// Clients with the role SecurityAdmin get it as events of the Server object, on
	// channels that encrypt; the log has a line about all but writes and calls, with a
	// share for each host; the property Server.Auditing is true. Secrets are no part of
	// it, see also [SecretArguments]. One host has 100 refusals recorded in a second;
	// what is above that is counted in [Stats].Audit.
	//
	// It is off unless asked for. It makes an event of each Write and Call as soon as any
	// client listens for events of any kind, and it names users and what they do, of
	// which a program should know that it does. Setting Audit switches it on, too.
	Auditing bool
	// Audit is told each entry of the audit trail, to be kept where a client cannot
	// change it. A goroutine of its own calls it, in the order of the entries, and the
	// server does not wait: when 16,384 entries or 64 MiB of them are behind, further
	// ones are dropped and counted in [Stats].AuditDropped. [Server.Close] returns after
	// the last entry was told.
	Audit func(AuditEntry)
	// Logger gets life-cycle events and refusals. Default: none. Give it a level:
	// a refused client is a warning.
	Logger zerolog.Logger
}

// BuildInfo says which build of which product a server is (Part 5, 12.4). It is
// about the program that embeds the server. ProductName defaults to
// Config.ApplicationName, SoftwareVersion to the version of the program's module
// as far as its build knows; the rest is empty unless set.
type BuildInfo struct {
	ManufacturerName, ProductName, SoftwareVersion, BuildNumber string
	BuildDate                                                   time.Time
}

// Security is a pair of security policy and mode.
type Security struct {
	policy *uasc.Policy
	mode   uasc.Mode
}

// String returns the standard's names, as "Basic256Sha256/SignAndEncrypt".
func (s Security) String() string {
	if s.policy == nil {
		return "Security{}"
	}
	return s.policy.Name + "/" + s.mode.String()
}

// The pairs of security policy and mode that a server can offer.
var (
	// NoSecurity neither signs nor encrypts: everybody on the network can read
	// and change everything. It has to be asked for.
	NoSecurity = Security{uasc.PolicyNone, uasc.ModeNone}

	Basic256Sha256Sign         = Security{uasc.Basic256Sha256, uasc.ModeSign}
	Basic256Sha256Encrypt      = Security{uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}
	Aes128Sha256RsaOaepSign    = Security{uasc.Aes128Sha256RsaOaep, uasc.ModeSign}
	Aes128Sha256RsaOaepEncrypt = Security{uasc.Aes128Sha256RsaOaep, uasc.ModeSignAndEncrypt}
	Aes256Sha256RsaPssSign     = Security{uasc.Aes256Sha256RsaPss, uasc.ModeSign}
	Aes256Sha256RsaPssEncrypt  = Security{uasc.Aes256Sha256RsaPss, uasc.ModeSignAndEncrypt}
)

// The pairs with elliptic curves. Each policy has a certificate of its own, beside
// that for RSA, which is made on the first start and which clients have to trust.
var (
	ECCNistP256Sign    = Security{uasc.ECCNistP256, uasc.ModeSign}
	ECCNistP256Encrypt = Security{uasc.ECCNistP256, uasc.ModeSignAndEncrypt}
	ECCNistP384Sign    = Security{uasc.ECCNistP384, uasc.ModeSign}
	ECCNistP384Encrypt = Security{uasc.ECCNistP384, uasc.ModeSignAndEncrypt}
)

// The pairs that the standard has withdrawn, because SHA-1 is broken. They are for
// devices that can do nothing better, and a server that offers one says so loudly
// on each start. Certificates stay as strong as everywhere: RSA keys of 2048 bits,
// signed with SHA-256.
var (
	DeprecatedBasic256Sign         = Security{uasc.Basic256, uasc.ModeSign}
	DeprecatedBasic256Encrypt      = Security{uasc.Basic256, uasc.ModeSignAndEncrypt}
	DeprecatedBasic128Rsa15Sign    = Security{uasc.Basic128Rsa15, uasc.ModeSign}
	DeprecatedBasic128Rsa15Encrypt = Security{uasc.Basic128Rsa15, uasc.ModeSignAndEncrypt}
)

// ECCPolicies returns all pairs with elliptic curves, to be added to
// [SecurePolicies]. They are no part of it because of their certificates: a server
// that was updated would offer, as its best endpoints, such with certificates that
// none of its clients trusts.
func ECCPolicies() []Security {
	return []Security{ECCNistP384Encrypt, ECCNistP384Sign, ECCNistP256Encrypt, ECCNistP256Sign}
}

// keyTypes returns the types of the certificates that the server needs beside RSA.
func (c *Config) keyTypes() []pki.KeyType {
	var types []pki.KeyType
	for _, s := range c.Security {
		if s.policy.Curve == nil {
			continue
		}
		if t, ok := pki.KeyTypeOfCurve(s.policy.Curve); ok {
			types = append(types, t)
		}
	}
	return types
}

// deprecated returns the names of the offered pairs that are withdrawn.
func (c *Config) deprecated() []string {
	var names []string
	for _, s := range c.Security {
		if s.policy.Deprecated {
			names = append(names, s.String())
		}
	}
	return names
}

// SecurePolicies returns all pairs that sign and encrypt with RSA and algorithms
// that are in good standing, the default of [Config.Security].
func SecurePolicies() []Security {
	return []Security{
		Basic256Sha256Encrypt, Basic256Sha256Sign,
		Aes128Sha256RsaOaepEncrypt, Aes128Sha256RsaOaepSign,
		Aes256Sha256RsaPssEncrypt, Aes256Sha256RsaPssSign,
	}
}

// ConfigError says which field of a [Config] cannot be used, and what to write
// instead.
type ConfigError struct {
	Field, Value, Instead string
	Err                   error
}

// Error implements error.
func (e *ConfigError) Error() string {
	text := fmt.Sprintf("uahive: Config.%s = %q: %s", e.Field, e.Value, e.Instead)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause, if there is one.
func (e *ConfigError) Unwrap() error { return e.Err }

// withDefaults returns the configuration with every unset field replaced, or
// says what is wrong with it.
func (c Config) withDefaults() (Config, error) {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	setDefault(&c.Endpoint, "opc.tcp://:4840")
	setDefault(&c.ApplicationURI, "urn:"+strings.ToLower(host)+":uahive")
	setDefault(&c.ApplicationName, "uahive")
	setDefault(&c.ProductURI, "urn:uahive")
	setDefault(&c.PKI, "pki")
	setDefault(&c.Build.ProductName, c.ApplicationName)
	setDefault(&c.Build.SoftwareVersion, programVersion())
	if c.Security == nil {
		c.Security = SecurePolicies()
	}
	c.withIdentities()
	c.Auditing = c.Auditing || c.Audit != nil
	switch {
	case c.ShutdownDelay == 0:
		c.ShutdownDelay = time.Second
	case c.ShutdownDelay < 0:
		c.ShutdownDelay = 0
	}
	c.ShutdownDelay = min(c.ShutdownDelay, 3*time.Second)
	return c, c.check()
}

// programVersion returns the version of the module that the program was built
// from; empty where the build does not say.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}

func setDefault(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

func (c *Config) check() error {
	u, err := url.Parse(c.Endpoint)
	if err != nil || u.Scheme != "opc.tcp" || u.Opaque != "" {
		return &ConfigError{Field: "Endpoint", Value: c.Endpoint, Instead: `write an address like "opc.tcp://:4840" or "opc.tcp://plant.example:4840"`, Err: err}
	}
	if name, err := url.Parse(c.ApplicationURI); err != nil || name.Scheme == "" {
		return &ConfigError{Field: "ApplicationURI", Value: c.ApplicationURI, Instead: `write a URI like "urn:acme:press"`, Err: err}
	}
	if len(c.Security) == 0 {
		return &ConfigError{Field: "Security", Value: "[]", Instead: "leave it nil for the secure policies, or list what to offer"}
	}
	for i, s := range c.Security {
		if s.policy == nil {
			return &ConfigError{Field: fmt.Sprintf("Security[%d]", i), Value: s.String(), Instead: "use one of the package's variables, such as uahive.Basic256Sha256Encrypt"}
		}
	}
	if port := u.Port(); port != "" {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return &ConfigError{Field: "Endpoint", Value: c.Endpoint, Instead: "write a port from 1 to 65535, or 0 for any free one", Err: err}
		}
	}
	for i, s := range c.Security {
		if slices.Contains(c.Security[:i], s) {
			return &ConfigError{Field: fmt.Sprintf("Security[%d]", i), Value: s.String(), Instead: "leave it out, it is in the list already"}
		}
	}
	if err := c.checkIdentities(); err != nil {
		return err
	}
	if c.Limits.Sessions < 0 {
		return &ConfigError{Field: "Limits.Sessions", Value: fmt.Sprint(c.Limits.Sessions), Instead: "write the number of sessions, or 0 for 10,000"}
	}
	if c.Limits.MaxMessage > 0 && c.Limits.MaxMessage < 8192 {
		return &ConfigError{Field: "Limits.MaxMessage", Value: fmt.Sprint(c.Limits.MaxMessage), Instead: "write at least 8192 bytes, or 0 for 4 MiB"}
	}
	if c.Limits.ArrayLength < 0 {
		return &ConfigError{Field: "Limits.ArrayLength", Value: fmt.Sprint(c.Limits.ArrayLength), Instead: "write the number of elements, or 0 for 1 Mi"}
	}
	if err := c.checkRoles(); err != nil {
		return err
	}
	if c.Workers < 0 {
		return &ConfigError{Field: "Workers", Value: fmt.Sprint(c.Workers), Instead: "write the number of calls that may run at once, or 0 for 64"}
	}
	return nil
}

// pkiError says which field of the configuration the certificate store could not
// work with.
func (c *Config) pkiError(err error) error {
	var wrong *pki.ConfigError
	if !errors.As(err, &wrong) {
		return &ConfigError{Field: "PKI", Value: c.PKI, Instead: "name a folder that can be read and written", Err: err}
	}
	field := "PKI"
	switch wrong.Field {
	case pki.FieldApplicationURI:
		field = "ApplicationURI"
	case pki.FieldHosts:
		field = "Hosts"
	}
	return &ConfigError{Field: field, Value: wrong.Value, Instead: wrong.Problem + "; " + wrong.Instead, Err: wrong.Err}
}

// listenAddress returns what to give to net.Listen.
func (c *Config) listenAddress() string {
	u, _ := url.Parse(c.Endpoint)
	port := u.Port()
	if port == "" {
		port = "4840"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// endpointURL returns the address that clients are told, with the machine's
// name in place of a wildcard and the port that is really used.
func (c *Config) endpointURL(bound net.Addr) string {
	u, _ := url.Parse(c.Endpoint)
	host, port := u.Hostname(), u.Port()
	if tcp, ok := bound.(*net.TCPAddr); ok {
		port = fmt.Sprint(tcp.Port)
	} else if port == "" {
		port = "4840"
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if name, err := os.Hostname(); err == nil {
			host = name
		}
	}
	u.Host = net.JoinHostPort(host, port)
	return u.String()
}

// isHostName reports whether a machine's name can stand in a certificate.
func isHostName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return r > 'z' || r != '-' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// hosts returns the names for a certificate that is made.
func (c *Config) hosts() []string {
	if c.Hosts != nil {
		return c.Hosts
	}
	hosts := []string{"localhost", "127.0.0.1"}
	if name, err := os.Hostname(); err == nil && isHostName(name) {
		hosts = append(hosts, name)
	}
	u, _ := url.Parse(c.Endpoint)
	if host := u.Hostname(); host != "" && host != "localhost" {
		if ip := net.ParseIP(host); ip == nil || !ip.IsUnspecified() && !ip.IsLoopback() {
			hosts = append(hosts, host)
		}
	}
	return hosts
}
