package audit

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/events"
)

// Who is on whose behalf an action was done, and when.
type Who struct {
	// Time is when the request was begun to be served.
	Time time.Time
	// EntryID is the auditEntryId of the request.
	EntryID string
	// User is the ClientUserId. Where a service has no user yet, the functions of this
	// package put in what the standard says.
	User string
	// Application is the client's ApplicationUri.
	Application string
	// Peer is the client's address with its port, and Host the same without it.
	Peer, Host string
}

// entry begins an entry.
func (w *Who) entry(typ uint32, source string, result ua.StatusCode, fields ...events.Field) *Entry {
	return &Entry{
		Type: typ, SourceName: source, Time: w.Time, Result: result,
		ClientEntryID: cut(w.EntryID), ClientUserID: cut(w.User), ClientApplicationURI: cut(w.Application),
		Peer: w.Peer, Host: w.Host, Fields: fields,
	}
}
