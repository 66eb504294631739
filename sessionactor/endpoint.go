package sessionactor

import (
	"net"
	"net/url"
	"strings"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// transportProfile is UA-TCP UA-SC UA-Binary (Part 7).
const transportProfile = "http://opcfoundation.org/UA-Profile/Transport/uatcp-uasc-uabinary"

// Profile is one pair of security policy and mode that the server offers.
type Profile struct {
	Policy *uasc.Policy
	Mode   uasc.Mode
}

// Endpoints is what the server offers to its clients. It is immutable.
type Endpoints struct {
	// URL is the address that the server was configured with, used where the
	// client's own is unknown.
	URL string
	// Application describes the server.
	Application ua.ApplicationDescription
	// Certificate returns the server's certificate chain for a policy at this moment.
	Certificate func(policy *uasc.Policy) []byte
	// Profiles are the offered pairs, in the order in which clients see them.
	Profiles []Profile
	// Anonymous admits users who do not say who they are.
	Anonymous bool
	// Identities are the ways to say it.
	Identities []Identity
}

// Offers reports whether sessions may use the policy and mode.
func (e *Endpoints) Offers(policy *uasc.Policy, mode ua.MessageSecurityMode) bool {
	for _, p := range e.Profiles {
		if p.Policy == policy && p.Mode == uasc.Mode(mode) {
			return true
		}
	}
	return false
}

// Descriptions returns the endpoints (Part 4, 7.14) with the address that the
// client used: asked is the endpointUrl of the request, dialed that of the
// Hello message. The host that a client can reach is not always one that the
// server knows of, behind NAT or in a container.
func (e *Endpoints) Descriptions(asked, dialed string) []ua.EndpointDescription {
	address := e.address(asked, dialed)
	application := e.Application
	application.DiscoveryURLs = []string{address}
	list := make([]ua.EndpointDescription, 0, len(e.Profiles))
	for i, p := range e.Profiles {
		list = append(list, ua.EndpointDescription{
			EndpointURL: address, Server: application, ServerCertificate: e.Certificate(p.Policy),
			SecurityMode: ua.MessageSecurityMode(p.Mode), SecurityPolicyURI: p.Policy.URI,
			UserIdentityTokens: e.tokens(p), TransportProfileURI: transportProfile,
			SecurityLevel: e.level(i),
		})
	}
	return list
}

// level rates a profile against the others (Part 4, 7.14: higher is better, 0
// is not recommended and there for old clients).
func (e *Endpoints) level(i int) uint8 {
	p := e.Profiles[i]
	if !p.Policy.Secure() || p.Policy.Deprecated {
		return 0
	}
	level := uint8(0)
	for rank, policy := range uasc.Policies() {
		if policy == p.Policy {
			level = uint8(10 * rank)
		}
	}
	if p.Mode == uasc.ModeSignAndEncrypt {
		level += 100
	}
	return level
}

// address replaces host and port of the configured URL by what the client used.
func (e *Endpoints) address(asked, dialed string) string {
	for _, candidate := range []string{asked, dialed} {
		u, err := url.Parse(candidate)
		if err != nil || u.Scheme != "opc.tcp" || u.Hostname() == "" || len(candidate) > uasc.MaxEndpointURLLength {
			continue
		}
		own, err := url.Parse(e.URL)
		if err != nil {
			return candidate
		}
		own.Host = u.Host
		if u.Port() == "" {
			own.Host = net.JoinHostPort(strings.Trim(u.Hostname(), "[]"), "4840")
		}
		return own.String()
	}
	return e.URL
}
