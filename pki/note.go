package pki

import (
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
)

// quote makes text of a stranger's certificate fit for the log: escaped, and of bounded length.
func quote(s string) string { return strconv.Quote(cut(s)) }

// escape is quote without the quotes, for a field of its own.
func escape(s string) string {
	q := quote(s)
	return q[1 : len(q)-1]
}

func cut(s string) string {
	const most = 200
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// refused records a refusal: in the rejected store, from where an administrator can move the certificate
// into a trust list, and in the log. Strangers can cause any number of refusals, so both are paced.
// The leaf is nil when there is nothing to be moved.
func (s *Store) refused(e *Error, check *Check, leaf *Parsed) {
	event, ok := s.note(e, check, leaf)
	if !ok {
		return
	}
	if leaf != nil {
		path, err := s.rejected.add(leaf)
		switch {
		case err != nil:
			event = event.AnErr("rejected", err)
		case path != "":
			event = event.Str("file", path)
			if e.Detail == ua.BadCertificateUntrusted {
				list := s.apps
				if check.Use == UseUser {
					list = s.users
				}
				event = event.Str("to trust it", "move the file into "+filepath.Join(list.dir, list.trusted, "certs"))
			}
		}
	}
	event.Msg("refused a certificate")
}

// accepted records that AcceptAll let somebody in who would have been refused.
func (s *Store) accepted(e *Error, check *Check, leaf *Parsed) {
	if event, ok := s.note(e, check, leaf); ok {
		event.Msg("ACCEPTED a certificate that is not acceptable, because TrustAll is set (AcceptAll in package pki)")
	}
}

// note begins the log entry about a certificate, unless there were too many lately.
func (s *Store) note(e *Error, check *Check, leaf *Parsed) (*zerolog.Event, bool) {
	suppressed, ok := s.notes.take(time.Now())
	if !ok {
		return nil, false
	}
	event := s.cfg.Logger.Warn().Str("reason", e.Reason).Stringer("code", e.Detail)
	if check.Peer != "" {
		event = event.Str("peer", check.Peer)
	}
	if e.Thumbprint != [20]byte{} {
		event = event.Hex("thumbprint", e.Thumbprint[:])
	}
	if leaf != nil {
		event = event.Str("subject", escape(leaf.X509().Subject.String()))
		if check.Use != UseUser {
			event = event.Str("application", escape(strings.Join(leaf.ApplicationURIs, " and ")))
		}
	}
	if suppressed > 0 {
		event = event.Uint64("unreported", suppressed)
	}
	return event, true
}
