package sessionactor

import (
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// The names of the additional parameters by which client and server agree on a key
// for the user's secret (Part 6, 6.8.2).
const (
	parameterPolicy = "ECDHPolicyUri"
	parameterKey    = "ECDHKey"
)

// challenge is what the server gave to a client for its next activation: the nonce
// that signatures and secrets have to contain, and, under the ECC policies, the key
// that a secret is encrypted with; nil where the client asked for none.
type challenge struct {
	nonce []byte
	key   *uasc.Share
}

// newEphemeral makes the key that a request asks for in its additional header, and
// the additional header of the response that brings it. Both are nothing where the
// request asks for none. A policy that is not the channel's, as all token policies
// of an ECC endpoint are, is answered with BadSecurityPolicyRejected in place of a
// key. It signs, so it belongs to where signing may run.
func (s *Service) newEphemeral(c *channelactor.Channel, asked *ua.ExtensionObject) (*uasc.Share, ua.ExtensionObject, error) {
	uri, ok := askedPolicy(asked)
	if !ok {
		return nil, ua.ExtensionObject{}, nil
	}
	policy := c.Policy()
	if policy.Curve == nil || uri != policy.URI {
		return nil, parameters(uri, ua.VariantOf(ua.BadSecurityPolicyRejected)), nil
	}
	share := policy.NewShare()
	signature, err := policy.Sign(s.own(c).Key, share.Nonce)
	if err != nil {
		return nil, ua.ExtensionObject{}, err
	}
	key := ua.ObjectOf(&ua.EphemeralKeyType{PublicKey: share.Nonce, Signature: signature})
	return &share, parameters(uri, ua.VariantOf(key)), nil
}

// askedPolicy finds the policy in the additional header of a request.
func askedPolicy(header *ua.ExtensionObject) (uri string, ok bool) {
	given, ok := header.Value.(*ua.AdditionalParametersType)
	if !ok {
		return "", false
	}
	for i := range given.Parameters {
		if p := &given.Parameters[i]; p.Key == (ua.QualifiedName{Name: parameterPolicy}) {
			uri, ok := ua.As[string](p.Value)
			return uri, ok && len(uri) <= uasc.MaxPolicyURILength
		}
	}
	return "", false
}

func parameters(uri string, key ua.Variant) ua.ExtensionObject {
	return ua.ObjectOf(&ua.AdditionalParametersType{Parameters: []ua.KeyValuePair{
		{Key: ua.QualifiedName{Name: parameterPolicy}, Value: ua.VariantOf(uri)},
		{Key: ua.QualifiedName{Name: parameterKey}, Value: key},
	}})
}
