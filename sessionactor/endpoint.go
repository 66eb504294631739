package sessionactor

import (
	"net"
	"net/url"
	"strings"

	"github.com/uahive/uahive/channelactor"
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
	// Certificate returns the server's certificate chain at this moment.
	Certificate func() []byte
	// Profiles are the offered pairs, in the order in which clients see them.
	Profiles []Profile
	// Anonymous and UserName say which identity tokens are accepted.
	Anonymous, UserName bool
	// PlainPasswords admits passwords that are not encrypted, on channels that
	// do not encrypt. It is for test beds only.
	PlainPasswords bool
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
	certificate := e.Certificate()
	list := make([]ua.EndpointDescription, 0, len(e.Profiles))
	for i, p := range e.Profiles {
		list = append(list, ua.EndpointDescription{
			EndpointURL: address, Server: application, ServerCertificate: certificate,
			SecurityMode: ua.MessageSecurityMode(p.Mode), SecurityPolicyURI: p.Policy.URI,
			UserIdentityTokens: e.tokens(p), TransportProfileURI: transportProfile,
			SecurityLevel: e.level(i),
		})
	}
	return list
}

// level rates a profile against the others (Part 4, 7.14: higher is better, 0
// is not recommended).
func (e *Endpoints) level(i int) uint8 {
	p := e.Profiles[i]
	if !p.Policy.Secure() {
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

// policyID names a token policy. It says kind and algorithm, so that a token
// can be checked against the channel that it came on.
func policyID(kind ua.UserTokenType, policy *uasc.Policy) string {
	if kind == ua.UserTokenTypeAnonymous {
		return "anonymous"
	}
	return "username_" + strings.ToLower(policy.Name)
}

// secretPolicy is the policy with which secrets are encrypted on an endpoint:
// its own, or a secure one where the endpoint has none.
func secretPolicy(endpoint *uasc.Policy) *uasc.Policy {
	if endpoint.Secure() {
		return endpoint
	}
	return uasc.Basic256Sha256
}

func (e *Endpoints) tokens(p Profile) []ua.UserTokenPolicy {
	var list []ua.UserTokenPolicy
	if e.Anonymous {
		list = append(list, ua.UserTokenPolicy{
			PolicyID: policyID(ua.UserTokenTypeAnonymous, p.Policy), TokenType: ua.UserTokenTypeAnonymous,
		})
	}
	if e.UserName {
		policy := secretPolicy(p.Policy)
		list = append(list, ua.UserTokenPolicy{
			PolicyID: policyID(ua.UserTokenTypeUserName, policy), TokenType: ua.UserTokenTypeUserName,
			SecurityPolicyURI: policy.URI,
		})
	}
	return list
}

// offersToken reports whether a token with this policy id may come on the
// channel. An empty id is accepted from clients that leave it out.
func (e *Endpoints) offersToken(c *channelactor.Channel, id string, kind ua.UserTokenType) bool {
	for _, p := range e.tokens(Profile{Policy: c.Policy(), Mode: uasc.Mode(c.Mode())}) {
		if p.TokenType == kind && (p.PolicyID == id || id == "") {
			return true
		}
	}
	return false
}

func (e *Endpoints) tokenPolicy(c *channelactor.Channel) *uasc.Policy {
	return secretPolicy(c.Policy())
}
