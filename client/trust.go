package client

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// trust decides over a server's certificate. The host is the one that was
// dialled.
func trust(cfg *Config, host string, t *target) error {
	if cfg.TrustAll {
		if trustWarnings.due(t.sec.server.Thumbprint, time.Now()) {
			cfg.Logger.Warn().Str("host", clip(host)).Str("application", clip(t.endpoint.Server.ApplicationURI)).
				Str("thumbprint", t.sec.server.ThumbprintString()).
				Msg("TrustAll is set: the server's certificate is accepted without validation")
		}
		return nil
	}
	if cfg.PKI == nil {
		return fmt.Errorf("client: nothing says which server certificates to trust (set Config.PKI or Config.TrustAll): %w",
			ua.BadCertificateUntrusted)
	}
	check := pki.Check{Use: pki.UseServer, ApplicationURI: t.endpoint.Server.ApplicationURI, Hostname: host, Peer: host}
	if cfg.IgnoreHostname {
		check.Hostname = ""
	}
	if p := t.sec.policy; p.Secure() {
		check.MinKeyBits, check.MaxKeyBits = p.MinKeyBits, p.MaxKeyBits
	}
	if err := cfg.PKI.Validate(t.endpoint.ServerCertificate, check); err != nil {
		hint := ""
		var refused *pki.Error
		if errors.As(err, &refused) && refused.Detail == ua.BadCertificateUntrusted {
			hint = "; Store.Trust or the folder trusted/certs of Config.PKI have it trusted"
		}
		return fmt.Errorf("client: this client refuses the server's certificate: %w%s", err, hint)
	}
	return nil
}

// withTrustHint adds to a refusal what most often is behind it. A server does not say more to a client that it
// does not trust (Part 6, 6.7.6), and this is how every first connection ends.
func withTrustHint(err error, sec *securing) error {
	var refusal *uasc.ErrorMessage
	if !sec.policy.Secure() || !errors.As(err, &refusal) {
		return err
	}
	switch refusal.Code.Code() {
	case ua.BadSecurityChecksFailed, ua.BadCertificateUntrusted, ua.BadCertificateInvalid, ua.BadCertificateChainIncomplete:
		return fmt.Errorf("%w (the server may not trust this client's certificate, thumbprint %x of %.200q: have it trusted on the server)",
			err, sec.local.Thumbprint, sec.local.ApplicationURI)
	}
	return err
}

// trustWarnings keeps ten thousand clients of one server from saying the same
// thing ten thousand times.
var trustWarnings warned

type warned struct {
	mu   sync.Mutex
	last map[[20]byte]time.Time // guarded by mu
}

const (
	warnEvery = time.Minute
)

// due says whether to warn about a certificate again.
func (w *warned) due(thumbprint [20]byte, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last, ok := w.last[thumbprint]; ok && now.Sub(last) < warnEvery {
		return false
	}
	if w.last == nil || len(w.last) >= warnMost {
		w.last = make(map[[20]byte]time.Time)
	}
	w.last[thumbprint] = now
	return true
}
