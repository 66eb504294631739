package jwtauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
)

// Config says which tokens are believed. Issuer, Audience, and Keys or Key are
// required.
type Config struct {
	// Issuer is the "iss" of the tokens, character by character, and the URL of the
	// authorization service for clients that look for one.
	Issuer string
	// Audience must be among the "aud" of a token. It is the ApplicationURI of the
	// server, unless the service knows the server by another resource id.
	Audience string
	// Keys are the public keys of the issuer by their key id ("kid"): *rsa.PublicKey
	// of 2048 bits and more, *ecdsa.PublicKey of P-256, P-384 or P-521, or
	// ed25519.PublicKey. The key under "" is for tokens without a key id.
	Keys map[string]crypto.PublicKey
	// Key is asked in place of Keys for the key of a token, as where the issuer
	// changes its keys. It runs on the worker pool and may wait as long as its
	// context does; kid is what a stranger wrote, and at most 256 bytes.
	Key func(ctx context.Context, kid string) (crypto.PublicKey, error)
	// Algorithms are the signatures that are accepted, by their JWA names (RFC
	// 7518, 3.1). Default: all of RS256, RS384, RS512, PS256, PS384, PS512, ES256,
	// ES384, ES512 and EdDSA. Others are mistakes: "none" signs nothing, and the HS
	// family would take the public key for a shared secret.
	Algorithms []string
	// Leeway is how far the clocks of issuer and server may differ when "nbf" is
	// checked; a token is never good for longer than its "exp". Default 30 s;
	// negative: none.
	Leeway time.Duration
	// MaxLength bounds a token in bytes. Default 16 KiB.
	MaxLength int

	// Roles says which roles of the server a user has, from what the token says.
	// Default: none; rules of the server may name the token's roles and groups.
	Roles func(c *Claims) []ua.NodeID

	// What clients are told about how to get a token (Part 6, 6.5.2.2); all
	// optional. AuthorityProfile defaults to OAuth2's.
	AuthorityProfile, TokenEndpoint, AuthorizationEndpoint string
	RequestTypes, Scopes                                   []string
}

// oauth2 is the profile of an authority that speaks OAuth2 (Part 6, 6.5.3).
const oauth2 = "http://opcfoundation.org/UA/Authorization#OAuth2"

const (
	defaultLeeway    = 30 * time.Second
	defaultMaxLength = 16 << 10
	maxKeyID         = 256
	minRSABits       = 2048
)

// algorithms are those that a public key can verify.
var algorithms = []string{
	"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
}

// Verifier decides about tokens. It is immutable and may be used by many.
type Verifier struct {
	config Config
	parser *jwt.Parser
	issuer string // the IssuerEndpointURL
}

// New returns a verifier. What is wrong with the configuration is a
// [uahive.ConfigError], whose field is one of this Config.
func New(c Config) (*Verifier, error) {
	wrong := func(field, value, instead string) error {
		return &uahive.ConfigError{Field: "jwtauth." + field, Value: value, Instead: instead}
	}
	if c.Issuer == "" {
		return nil, wrong("Issuer", "", `write the "iss" of the tokens, such as "https://login.plant.example"`)
	}
	if c.Audience == "" {
		return nil, wrong("Audience", "", "write the server's ApplicationURI, or what the issuer calls the server")
	}
	if (c.Key == nil) == (len(c.Keys) == 0) {
		return nil, wrong("Keys", fmt.Sprint(len(c.Keys)), "give the issuer's public keys, or a function Key that finds them; not both")
	}
	for kid, key := range c.Keys {
		if err := checkKey(key); err != nil {
			return nil, wrong("Keys", kid, "give a public key that signatures can be trusted to: "+err.Error())
		}
	}
	if c.Algorithms == nil {
		c.Algorithms = algorithms
	}
	if len(c.Algorithms) == 0 {
		return nil, wrong("Algorithms", "[]", "leave it nil for all of "+strings.Join(algorithms, ", ")+", or list some of them")
	}
	for _, name := range c.Algorithms {
		if !slices.Contains(algorithms, name) {
			return nil, wrong("Algorithms", name, "use some of "+strings.Join(algorithms, ", ")+", which a public key can verify")
		}
	}
	switch {
	case c.Leeway == 0:
		c.Leeway = defaultLeeway
	case c.Leeway < 0:
		c.Leeway = 0
	}
	if c.MaxLength <= 0 {
		c.MaxLength = defaultMaxLength
	}
	if c.AuthorityProfile == "" {
		c.AuthorityProfile = oauth2
	}
	v := &Verifier{config: c}
	v.parser = jwt.NewParser(
		jwt.WithValidMethods(c.Algorithms), jwt.WithIssuer(c.Issuer), jwt.WithAudience(c.Audience),
		jwt.WithExpirationRequired(), jwt.WithLeeway(c.Leeway), jwt.WithStrictDecoding(),
	)
	v.issuer = c.issuerEndpointURL()
	return v, nil
}

// checkKey refuses what is no public key, or one that is too weak.
func checkKey(key crypto.PublicKey) error {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k == nil || k.N == nil || k.N.BitLen() < minRSABits {
			return fmt.Errorf("RSA needs %d bits", minRSABits)
		}
	case *ecdsa.PublicKey:
		if k == nil || k.Curve == nil || k.Curve.Params().BitSize < 256 {
			return fmt.Errorf("ECDSA needs a curve of 256 bits")
		}
	case ed25519.PublicKey:
		if len(k) != ed25519.PublicKeySize {
			return fmt.Errorf("Ed25519 needs %d bytes", ed25519.PublicKeySize)
		}
	default:
		return fmt.Errorf("%T is no public key of RSA, ECDSA or Ed25519", key)
	}
	return nil
}

// issuerEndpointURL is the JSON object that tells clients where to get a token
// (Part 6, table 55).
func (c *Config) issuerEndpointURL() string {
	// Names with a colon are what the standard wants; the order is that of its table.
	out, err := json.Marshal(struct {
		Resource      string   `json:"ua:resourceId"`
		Authority     string   `json:"ua:authorityUrl"`
		Profile       string   `json:"ua:authorityProfileUri"`
		Token         string   `json:"ua:tokenEndpoint,omitempty"`
		Authorization string   `json:"ua:authorizationEndpoint,omitempty"`
		Requests      []string `json:"ua:requestTypes,omitempty"`
		Scopes        []string `json:"ua:scopes,omitempty"`
	}{c.Audience, c.Issuer, c.AuthorityProfile, c.TokenEndpoint, c.AuthorizationEndpoint, c.RequestTypes, c.Scopes})
	if err != nil {
		panic("jwtauth: strings that are no JSON: " + err.Error())
	}
	return string(out)
}

// Identity offers users with these tokens, for [uahive.Config.Identities].
func (v *Verifier) Identity() uahive.Identity {
	return uahive.IssuedTokens(uahive.JWTProfile, v.issuer)
}
