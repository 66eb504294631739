package publishloop

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Hooks are told what becomes of subscriptions. They are called with no lock held,
// on goroutines that serve many: they must neither block nor go deep. Fields that
// are nil are left out.
type Hooks struct {
	// Created is called for a subscription that a session has made.
	Created func(subscription uint32, session ua.NodeID, interval time.Duration)
	// Deleted is called when a subscription is gone, with the session that had it
	// last: Good says that the session or its end deleted it, BadTimeout that its
	// lifetime ended.
	Deleted func(subscription uint32, session ua.NodeID, status ua.StatusCode)
}
