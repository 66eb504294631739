package client

import "sync/atomic"

// Stats is a snapshot of what a client has counted since Connect.
type Stats struct {
	Requests, Responses uint64 // messages, Publish included
	BytesIn, BytesOut   uint64 // on the wire, behind the handshake
	Renewals            uint64 // security tokens after the first of a channel
	Reconnects          uint64 // connections after the first
	Notifications       uint64 // changes and events delivered or dropped
	KeepAlives          uint64 // messages of subscriptions that had nothing to tell
	PublishFailures     uint64 // Publish requests that were answered with an error
	Republished         uint64 // messages that Republish brought
	Duplicates          uint64 // messages that came twice and were delivered once
	Lost                uint64 // messages that the server no longer had
	Dropped             uint64 // changes that a slow consumer made the client drop
	InFlight            int    // requests without an answer now, parked Publish included
	ParkedPublishes     int    // Publish requests without an answer now
}

// counters are what Stats is made from.
type counters struct {
	requests, responses atomic.Uint64
	bytesIn, bytesOut   atomic.Uint64
	renewals            atomic.Uint64
	reconnects          atomic.Uint64
	notifications       atomic.Uint64
	keepAlives          atomic.Uint64
	publishFailures     atomic.Uint64
	republished         atomic.Uint64
	duplicates          atomic.Uint64
	lost                atomic.Uint64
	dropped             atomic.Uint64
}

// Stats returns the counters. It is cheap enough to be called every second for
// thousands of clients.
func (c *Client) Stats() Stats {
	s := Stats{
		Requests:      c.stats.requests.Load(),
		Responses:     c.stats.responses.Load(),
		BytesIn:       c.stats.bytesIn.Load(),
		BytesOut:      c.stats.bytesOut.Load(),
		Renewals:      c.stats.renewals.Load(),
		Reconnects:    c.stats.reconnects.Load(),
		Notifications: c.stats.notifications.Load(),
		KeepAlives:    c.stats.keepAlives.Load(),
		Republished:   c.stats.republished.Load(),
		Duplicates:    c.stats.duplicates.Load(),
		Lost:          c.stats.lost.Load(),
		Dropped:       c.stats.dropped.Load(),

		PublishFailures: c.stats.publishFailures.Load(),
	}
	if ch := c.current.Load(); ch != nil {
		ch.mu.Lock()
		s.InFlight = ch.slots.used()
		ch.mu.Unlock()
	}
	c.mu.Lock()
	s.ParkedPublishes = c.parked
	c.mu.Unlock()
	return s
}
