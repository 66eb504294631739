package client

import (
	"fmt"
	"sync"
	"time"

	"github.com/uahive/uahive/codec/ua"
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
	check := pki.Check{Use: pki.UseServer, ApplicationURI: t.endpoint.Server.ApplicationURI, Hostname: host}
	if cfg.IgnoreHostname {
		check.Hostname = ""
	}
	if p := t.sec.policy; p.Secure() {
		check.MinKeyBits, check.MaxKeyBits = p.MinKeyBits, p.MaxKeyBits
	}
	if err := cfg.PKI.Validate(t.endpoint.ServerCertificate, check); err != nil {
		return fmt.Errorf("client: %w", err)
	}
	return nil
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
