package sessionactor

import "github.com/uahive/uahive/channelactor"

// Hooks are told what becomes of sessions. They are called with no lock held, on
// goroutines that serve peers: they must neither block nor go deep. The channel is
// the one that the session has then, or had last. Fields that are nil are left out.
type Hooks struct {
	// Created is called for a session that a client has made, before its client is
	// told.
	Created func(c *Caller, channel *channelactor.Channel)
	// Activated is called after each activation: the first, those for another
	// user, and those on another channel.
	Activated func(c *Caller, channel *channelactor.Channel)
	// Closed is called when a session is gone, with the cause in words.
	Closed func(c *Caller, channel *channelactor.Channel, cause string)
}
