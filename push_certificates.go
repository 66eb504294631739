package uahive

import (
	"bytes"
	"context"
	"crypto/rsa"
	"crypto/x509/pkix"
	"encoding/asn1"
	"slices"
	"strings"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// leastNonce is the length of what a client adds to the server's own randomness (Part 12, 7.10.10).
const leastNonce = 32

// keyType finds which of the server's certificates a method is about. A null group is that of the application.
func (p *push) keyType(group, kind ua.NodeID) (pki.KeyType, error) {
	if !group.IsNull() && group != applicationGroup {
		return 0, ua.BadInvalidArgument
	}
	for t, typeID := range certificateTypes {
		if typeID == kind && p.store.CertificateOf(t) != nil {
			return t, nil
		}
	}
	if kind.IsNull() {
		return pki.RSA, nil
	}
	return 0, ua.BadInvalidArgument
}

// createSigningRequest makes a request for an authority (Part 12, 7.10.10), with the key that the server has or
// with a new one, that waits for its certificate.
//
// Making an RSA key takes long, so it is made without the lock.
func (p *push) createSigningRequest(ctx context.Context, c *addrspace.Call) error {
	caller, err := p.admit(ctx)
	if err != nil {
		return err
	}
	kind, err := p.keyType(input[ua.NodeID](c, 0), input[ua.NodeID](c, 1))
	if err != nil {
		return err
	}
	subject, ok := parseSubject(input[string](c, 2))
	if !ok {
		return ua.BadInvalidArgument
	}
	regenerate, nonce := input[bool](c, 3), input[[]byte](c, 4)
	current := p.store.CertificateOf(kind)
	key := current.Key
	if regenerate {
		if len(nonce) < leastNonce {
			return ua.BadInvalidArgument
		}
		// The system's randomness needs no help of a client; its nonce is not used.
		bits := 0
		if old, ok := current.Key.(*rsa.PrivateKey); ok {
			bits = old.N.BitLen()
		}
		if key, err = pki.NewKey(kind, bits); err != nil {
			p.log.Error().Err(err).Msg("cannot make a key")
			return ua.BadInternalError
		}
	}
	request, err := pki.SigningRequest(current, key, subject)
	if err != nil {
		p.log.Warn().Err(err).Msg("cannot make a signing request")
		return ua.BadInvalidArgument
	}
	if regenerate {
		p.mu.Lock()
		p.keys[kind] = key
		p.mu.Unlock()
	}
	p.who(caller).Stringer("type", kind).Bool("newKey", regenerate).Msg("a signing request was made")
	c.Outputs = []ua.Variant{ua.VariantOf(request)}
	return nil
}

// parseSubject reads a subject name such as "CN=Press/O=Acme" or "CN=Press, O=Acme". An empty one is fine.
func parseSubject(text string) (pkix.RDNSequence, bool) {
	const most = 1024
	if len(text) > most {
		return nil, false
	}
	var sequence pkix.RDNSequence
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '/' || r == ',' }) {
		name, value, ok := strings.Cut(strings.TrimSpace(field), "=")
		oid := subjectNames[strings.ToUpper(strings.TrimSpace(name))]
		if value = strings.Trim(strings.TrimSpace(value), `"`); !ok || oid == nil || value == "" {
			return nil, false
		}
		sequence = append(sequence, pkix.RelativeDistinguishedNameSET{{Type: oid, Value: value}})
	}
	return sequence, true
}

// subjectNames are the attributes of a subject (RFC 4519).
var subjectNames = map[string]asn1.ObjectIdentifier{
	"CN": {2, 5, 4, 3}, "C": {2, 5, 4, 6}, "L": {2, 5, 4, 7}, "S": {2, 5, 4, 8}, "ST": {2, 5, 4, 8},
	"O": {2, 5, 4, 10}, "OU": {2, 5, 4, 11}, "DC": {0, 9, 2342, 19200300, 100, 1, 25},
}

// updateCertificate makes a certificate of the server a part of the change (Part 12, 7.10.5). Without a key it
// belongs to the one that a signing request made, or to the one in use.
func (p *push) updateCertificate(caller *Caller, c *addrspace.Call) error {
	kind, err := p.keyType(input[ua.NodeID](c, 0), input[ua.NodeID](c, 1))
	if err != nil {
		return err
	}
	chain := bytes.Join(append([][]byte{input[[]byte](c, 2)}, input[[][]byte](c, 3)...), nil)
	leaf, err := pki.Intern(chain)
	if err != nil {
		return ua.BadCertificateInvalid
	}
	if t, _ := pki.KeyTypeOf(leaf.Key); t != kind {
		return ua.BadInvalidArgument
	}
	next := renewal{chain: chain}
	format, private := input[string](c, 4), input[[]byte](c, 5)
	switch {
	case len(private) > 0 && format != "PEM":
		return ua.BadNotSupported
	case len(private) > 0:
		if next.key, err = pki.ParseKey(private); err != nil {
			return ua.BadInvalidArgument
		}
	default:
		if made := p.keys[kind]; made != nil {
			if _, err := p.store.CheckRenewal(chain, made); err == nil {
				next.key = made
			}
		}
	}
	if _, err := p.store.CheckRenewal(chain, next.key); err != nil {
		p.log.Warn().Err(err).Str("user", caller.User.Name).Msg("a certificate for the server was refused")
		return ua.BadCertificateInvalid
	}
	if err := p.begin(caller); err != nil {
		return err
	}
	p.change.renewed[kind] = next
	p.who(caller).Str("thumbprint", leaf.ThumbprintString()).Msg("a certificate for the server waits for ApplyChanges")
	c.Outputs = []ua.Variant{ua.BooleanVariant(true)}
	return nil
}

// getRejectedList returns what was refused last, the newest first (Part 12, 7.10.12).
func (p *push) getRejectedList(_ *Caller, c *addrspace.Call) error {
	list := p.store.RejectedList()
	slices.Reverse(list)
	c.Outputs = []ua.Variant{ua.SliceVariant(list)}
	return nil
}

// certificates are the server's certificates with their types.
func (p *push) certificates() (types []ua.NodeID, ders [][]byte) {
	for _, own := range p.store.Certificates() {
		types = append(types, certificateTypes[own.Type])
		ders = append(ders, own.DER)
	}
	return types, ders
}

func (p *push) getCertificates(_ *Caller, c *addrspace.Call) error {
	types, ders := p.certificates()
	switch group := input[ua.NodeID](c, 0); group {
	case applicationGroup:
	case userTokenGroup:
		types, ders = []ua.NodeID{}, [][]byte{} // the server is no user
	default:
		return ua.BadInvalidArgument
	}
	c.Outputs = []ua.Variant{ua.SliceVariant(types), ua.SliceVariant(ders)}
	return nil
}
