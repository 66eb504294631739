package attack

import (
	"bytes"
	"crypto/x509"
	"net/url"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/rawpeer"

	"github.com/uahive/uahive"
)

// A server gets another certificate, with another key, while it runs: new channels use it, those that are open
// go on with the one that their clients know, and renew their tokens and make sessions with it.
func TestServerCertificateIsRenewedAtRunTime(t *testing.T) {
	dir := t.TempDir()
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.PKI = dir })
	config := x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt)
	p := rawpeer.Connect(t, x.dial(), config)
	s := p.Session()
	old := x.server.PKI().Certificate()

	der := forge(t, authorityKey(), authorityKey(), func(c *x509.Certificate) {
		uri, _ := url.Parse(old.ApplicationURI)
		c.URIs, c.ExtKeyUsage = []*url.URL{uri}, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	})
	if err := x.server.PKI().Renew(der, authorityKey()); err != nil {
		t.Fatal(err)
	}
	read := &ua.ReadRequest{NodesToRead: []ua.ReadValueID{{NodeID: node(int32Node), AttributeID: ua.AttributeIDValue}}}
	if code := s.Result(read); code != ua.Good {
		t.Errorf("an open channel: %v", code)
	}
	p.Use(p.Open(ua.SecurityTokenRequestTypeRenew))
	if code := s.Result(read); code != ua.Good {
		t.Errorf("after the renewal of its token: %v", code)
	}
	p.Session() // verifies the server's signature with the certificate that it knows
	endpoints := rawpeer.Do[*ua.GetEndpointsResponse](s, &ua.GetEndpointsRequest{EndpointURL: x.url})
	for _, e := range endpoints.Endpoints {
		if !bytes.Equal(e.ServerCertificate, der) {
			t.Error("GetEndpoints gives the old certificate")
		}
	}

	late := rawpeer.New(t, x.dial(), config)
	late.Hello()
	late.Write(late.SealOpen(&ua.OpenSecureChannelRequest{
		SecurityMode: ua.MessageSecurityModeSignAndEncrypt, ClientNonce: config.Policy.NewShare().Nonce,
	}))
	if code := late.Refusal(); code != ua.BadCertificateInvalid {
		t.Errorf("a new channel with the old certificate: %v", code)
	}
	config.Server = x.server.PKI().Certificate()
	rawpeer.Connect(t, x.dial(), config).Session()

	again, err := pki.Open(pki.Config{Dir: dir})
	if err != nil || !bytes.Equal(again.Certificate().DER, der) {
		t.Errorf("the next start has another certificate: %v", err)
	}
}
