package client

import (
	"bytes"
	"fmt"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// The names of the additional parameters by which client and server agree on a key
// for the user's secret (Part 6, 6.8.2).
const (
	parameterPolicy = "ECDHPolicyUri"
	parameterKey    = "ECDHKey"
)

// askForKey is the additional header that asks the server for a key to encrypt the
// user's secret with. It is asked for on each channel of an ECC policy, so that
// there is one when the user changes.
func askForKey(p *uasc.Policy) ua.ExtensionObject {
	if p.Curve == nil {
		return ua.ExtensionObject{}
	}
	return ua.ObjectOf(&ua.AdditionalParametersType{Parameters: []ua.KeyValuePair{
		{Key: ua.QualifiedName{Name: parameterPolicy}, Value: ua.VariantOf(p.URI)},
	}})
}

// keyOf takes the key from the additional header of a response: nil where there is
// none. Its signature must be the server's.
func keyOf(header *ua.ExtensionObject, p *uasc.Policy, server *pki.Parsed) ([]byte, error) {
	given, ok := header.Value.(*ua.AdditionalParametersType)
	if !ok || p.Curve == nil || server == nil {
		return nil, nil
	}
	for i := range given.Parameters {
		if given.Parameters[i].Key != (ua.QualifiedName{Name: parameterKey}) {
			continue
		}
		object, ok := ua.As[ua.ExtensionObject](given.Parameters[i].Value)
		if !ok {
			return nil, nil // a StatusCode says why there is none; who needs one will say so
		}
		key, ok := object.Value.(*ua.EphemeralKeyType)
		if !ok {
			return nil, fmt.Errorf("ephemeral key of type %v: %w", object.TypeID, ua.BadDecodingError)
		}
		if err := p.Verify(server.Key, key.Signature, key.PublicKey); err != nil {
			return nil, fmt.Errorf("signature of the server's ephemeral key: %w", ua.BadApplicationSignatureInvalid)
		}
		if err := p.CheckNonce(key.PublicKey); err != nil {
			return nil, fmt.Errorf("server's ephemeral key: %w", err)
		}
		return bytes.Clone(key.PublicKey), nil
	}
	return nil, nil
}
