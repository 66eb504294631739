package sessionactor

import (
	"fmt"
	"strings"

	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// Identity is one way for users to say who they are, which the server offers
// beside Anonymous.
type Identity struct {
	// Kind is one of UserName, UserCertificate and IssuedToken.
	Kind IdentityKind
	// Policy encrypts secrets, or signs. nil stands for the endpoint's own, and on
	// endpoints without security for Basic256Sha256.
	Policy *uasc.Policy
	// Clear leaves the protection of secrets to the channel: the token policy names
	// SecurityPolicy None, and is offered on endpoints that sign and encrypt alone
	// (Part 4, 7.40.4). It is not for certificates, which have to sign.
	Clear bool
	// TokenType and IssuerEndpointURL tell clients of an IssuedToken which one they
	// need and where to get it (Part 4, 7.41; Part 6, 6.5.2 for JWT).
	TokenType, IssuerEndpointURL string
}

// offer is an Identity as one endpoint has it.
type offer struct {
	ua.UserTokenPolicy
	kind   IdentityKind
	policy *uasc.Policy // for secrets and signatures; None where neither is needed
}

// offers returns what an endpoint offers, in the order in which clients see it. The
// PolicyId says kind and algorithm and is unique in the server: the same id on two
// endpoints means the same (Part 4, 7.41).
func (e *Endpoints) offers(p Profile) []offer {
	var list []offer
	if e.Anonymous {
		list = append(list, offer{
			UserTokenPolicy: ua.UserTokenPolicy{PolicyID: "anonymous", TokenType: ua.UserTokenTypeAnonymous},
			policy:          uasc.PolicyNone,
		})
	}
	var counts [IssuedToken + 1]int
	for _, identity := range e.Identities {
		counts[identity.Kind]++
		policy := identity.Policy
		switch {
		case identity.Clear && p.Mode != uasc.ModeSignAndEncrypt:
			continue
		case identity.Clear:
			policy = uasc.PolicyNone
		case policy == nil || policy.Curve != p.Policy.Curve:
			// A client of the endpoint has one certificate of the server, and all token
			// policies have to work with that (Part 6, 6.8.2).
			policy = secretPolicy(p.Policy)
		}
		list = append(list, offer{
			kind: identity.Kind, policy: policy,
			UserTokenPolicy: ua.UserTokenPolicy{
				PolicyID: policyID(identity.Kind, counts[identity.Kind], policy), TokenType: identity.Kind.tokenType(),
				IssuedTokenType: identity.TokenType, IssuerEndpointURL: identity.IssuerEndpointURL, SecurityPolicyURI: policy.URI,
			},
		})
	}
	return list
}

// policyID names the nth token policy of a kind.
func policyID(kind IdentityKind, nth int, policy *uasc.Policy) string {
	name := [...]string{UserName: "username", UserCertificate: "certificate", IssuedToken: "issued"}[kind]
	if nth > 1 {
		name = fmt.Sprint(name, nth)
	}
	return name + "_" + strings.ToLower(policy.Name)
}

// secretPolicy is the policy with which secrets are encrypted on an endpoint:
// its own, or a secure one where the endpoint has none. Basic128Rsa15 counts as
// none, since a secret under its padding could not be decrypted without telling
// whether the padding was right (threat S15).
func secretPolicy(endpoint *uasc.Policy) *uasc.Policy {
	if endpoint.Secure() && endpoint != uasc.Basic128Rsa15 {
		return endpoint
	}
	return uasc.Basic256Sha256
}

func (e *Endpoints) tokens(p Profile) []ua.UserTokenPolicy {
	var list []ua.UserTokenPolicy
	for _, o := range e.offers(p) {
		list = append(list, o.UserTokenPolicy)
	}
	return list
}

// offered finds the policy of a token that came on a channel. An empty id is
// accepted from clients that leave it out, and stands for the first of its kind.
func (e *Endpoints) offered(c *channelactor.Channel, id string, kind IdentityKind) (offer, error) {
	for _, o := range e.offers(Profile{Policy: c.Policy(), Mode: uasc.Mode(c.Mode())}) {
		if o.kind == kind && (o.PolicyID == id || id == "") {
			return o, nil
		}
	}
	return offer{}, fmt.Errorf("token policy %.100q is not offered for %v: %w", id, kind, ua.BadIdentityTokenInvalid)
}
