package conformance

import (
	"errors"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// A client whose certificate is not trusted gets no channel, and the answer does
// not say why (Part 4, 6.1.3, and Part 6, 6.7.6). Once an operator trusts it, the
// client comes in without a restart of the server; no longer trusted, it has to
// leave, and others stay. Threat S14.
func TestTrustedClientsOnly(t *testing.T) {
	ownPKI := func(c *uahive.Config) { c.TrustAll, c.PKI = false, "memory" }
	inTime(t, func(t *testing.T, w *world) {
		own, stranger := clientPKI(t, clientKey()), clientPKI(t, strangerKey())
		refused := func(own *pki.Store, mode uasc.Mode) {
			t.Helper()
			p := w.bare(w.secure(own, mode))
			p.Hello()
			p.Write(p.SealOpen(&ua.OpenSecureChannelRequest{
				SecurityMode: ua.MessageSecurityMode(mode), ClientNonce: p.Config.Policy.Nonce(), RequestedLifetime: 60_000,
			}))
			expect(t, "an untrusted client", p.Refusal(), ua.BadSecurityChecksFailed)
		}
		for _, mode := range []uasc.Mode{uasc.ModeSign, uasc.ModeSignAndEncrypt} {
			refused(own, mode)
		}
		if err := w.PKI().Trust(own.Certificate().DER); err != nil {
			t.Fatal(err)
		}
		config := w.secure(own, uasc.ModeSign)
		config.Lifetime = 60_000
		s := w.dialWith(config).Session()
		readValue(s, serverNode)
		// Another certificate with the same names is another client.
		refused(stranger, uasc.ModeSign)

		third := clientPKI(t, strangerKey())
		if err := w.PKI().Trust(third.Certificate().DER); err != nil {
			t.Fatal(err)
		}
		other := w.dialWith(w.secure(third, uasc.ModeSign))
		if _, err := w.PKI().Untrust(own.Certificate().DER); err != nil {
			t.Fatal(err)
		}
		expect(t, "no longer trusted", s.Refusal(), ua.BadSecurityChecksFailed)
		refused(own, uasc.ModeSign)
		if _, _, err := other.Next(time.Second); !errors.Is(err, rawpeer.ErrQuiet) {
			t.Errorf("others are hurt: %v", err)
		}
	}, ownPKI)
}
