package client

import (
	"fmt"
	"strings"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// Security is a security policy together with a mode. The zero value is
// [BestSecurity].
type Security struct {
	// Policy is the URI of a SecurityPolicy, or the part of it behind '#'.
	// Empty leaves the choice to the client.
	Policy string
	// Mode says whether messages are signed, or signed and encrypted. Zero
	// (invalid) leaves the choice to the client.
	Mode ua.MessageSecurityMode
}

// The names of the security policies that the client has (Part 7, 6.6).
const (
	PolicyNone                = "None"
	PolicyBasic256Sha256      = "Basic256Sha256"
	PolicyAes128Sha256RsaOaep = "Aes128_Sha256_RsaOaep"
	PolicyAes256Sha256RsaPss  = "Aes256_Sha256_RsaPss"
	// The policies with elliptic curves need a certificate whose key is on the same
	// one, see KeyTypes of the configuration of package pki.
	PolicyECCNistP256 = "ECC_nistP256"
	PolicyECCNistP384 = "ECC_nistP384"
	// These are withdrawn, since they rest on SHA-1. They are used only where they
	// are asked for by name.
	PolicyBasic256      = "Basic256"
	PolicyBasic128Rsa15 = "Basic128Rsa15"
)

const policyPrefix = "http://opcfoundation.org/UA/SecurityPolicy#"

var (
	// BestSecurity takes the endpoint that the server gives the highest level,
	// among those that the client has a policy for. A client with a
	// certificate refuses to connect without security unless it is asked to;
	// one without a certificate cannot do otherwise.
	BestSecurity = Security{}
	// NoSecurity asks for SecurityPolicy None.
	NoSecurity = Security{Policy: PolicyNone, Mode: ua.MessageSecurityModeNone}
)

// ParseSecurity reads what a command line says: "best", a policy, or a policy
// and a mode with a slash between them, as in "Basic256Sha256/Sign". A secure
// policy alone means SignAndEncrypt.
func ParseSecurity(s string) (Security, error) {
	policy, mode, _ := strings.Cut(strings.TrimPrefix(s, policyPrefix), "/")
	switch policy {
	case "", "best":
		return BestSecurity, nil
	case PolicyNone:
		return NoSecurity, nil
	case PolicyBasic256Sha256, PolicyAes128Sha256RsaOaep, PolicyAes256Sha256RsaPss,
		PolicyECCNistP256, PolicyECCNistP384, PolicyBasic256, PolicyBasic128Rsa15:
	default:
		return Security{}, fmt.Errorf("client: unknown security policy %q", policy)
	}
	switch mode {
	case "Sign":
		return Security{policy, ua.MessageSecurityModeSign}, nil
	case "", "SignAndEncrypt":
		return Security{policy, ua.MessageSecurityModeSignAndEncrypt}, nil
	}
	return Security{}, fmt.Errorf("client: unknown security mode %q", mode)
}

// policyURI is the full URI, or "" where the choice is free.
func (s Security) policyURI() string {
	if s.Policy == "" || strings.Contains(s.Policy, "#") {
		return s.Policy
	}
	return policyPrefix + s.Policy
}

// KeyTypes are the types of keys that the client's certificates must have beside
// RSA for this choice, for the field of that name of [pki.Config].
func (s Security) KeyTypes() []pki.KeyType {
	if policy, ok := uasc.PolicyByURI(s.policyURI()); ok && policy.Curve != nil {
		if t, ok := pki.KeyTypeOfCurve(policy.Curve); ok {
			return []pki.KeyType{t}
		}
	}
	return nil
}

// fits says whether an endpoint is among those asked for.
func (s Security) fits(e *ua.EndpointDescription) bool {
	if uri := s.policyURI(); uri != "" && uri != e.SecurityPolicyURI {
		return false
	}
	return s.Mode == ua.MessageSecurityModeInvalid || s.Mode == e.SecurityMode
}

func (s Security) String() string {
	switch {
	case s == BestSecurity:
		return "best"
	case s.Mode == ua.MessageSecurityModeNone:
		return PolicyNone
	}
	policy := strings.TrimPrefix(s.Policy, policyPrefix)
	if policy == "" {
		policy = "any policy"
	}
	switch s.Mode {
	case ua.MessageSecurityModeSign:
		return policy + "/Sign"
	case ua.MessageSecurityModeSignAndEncrypt:
		return policy + "/SignAndEncrypt"
	}
	return policy
}
