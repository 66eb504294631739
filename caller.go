package uahive

import (
	"context"

	"github.com/uahive/uahive/sessionactor"
)

// Caller is who a callback of the program is called for: the session with its
// user, client application and preferred languages.
type Caller = sessionactor.Caller

// CallerFrom returns the caller of a callback's context. It reports false for
// any other context, and for values that are sampled for subscriptions, which
// are for all clients alike; the User of that Caller is an anonymous one, not nil.
func CallerFrom(ctx context.Context) (Caller, bool) { return sessionactor.CallerFrom(ctx) }
