package channelactor

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
)

// lines collects what several goroutines log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A client that is not trusted is one warning, which says where it is; that its
// channel ended is no second one.
func TestRefusedCertificateIsOneWarning(t *testing.T) {
	log := new(lines)
	logger := zerolog.New(log).Level(zerolog.InfoLevel)
	w := newWorld(t, Limits{})
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:server", Key: serverKey(), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	w.store, w.config.PKI, w.log, w.refusals = store, store, logger, NewPeerLog(logger, zerolog.WarnLevel, refusalLines, refusalPeriod)
	conn := dial(t, w.listen())
	p := w.peer(conn, uasc.Basic256Sha256, uasc.ModeSign)
	p.hello()
	p.write(p.sealOpen(ua.SecurityTokenRequestTypeIssue, p.policy.Nonce(), 0))
	if code := p.refusal(); code != ua.BadSecurityChecksFailed {
		t.Errorf("refused with %v", code)
	}
	w.Close(ua.BadShutdown)
	if err := w.group.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, `"peer":"`+conn.LocalAddr().String()+`"`) {
		t.Errorf("log:\n%s", text)
	}
}
