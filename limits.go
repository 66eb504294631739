package uahive

import (
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/publishloop"
	"github.com/uahive/uahive/sessionactor"
)

// Limits bounds what clients can take from the server, floor by floor. Every
// zero field takes the default that its own documentation states.
type Limits struct {
	// Sessions is the number of sessions. Default 10,000. It also sets the
	// number of connections, unless that has a limit of its own: two for each
	// session and a reserve.
	Sessions int
	// MaxMessage is the largest request and response in bytes. Default 4 MiB.
	MaxMessage uint32
	// ArrayLength is the largest number of elements in an array that a client
	// may send. Default 1 Mi.
	ArrayLength int

	// Channels has the limits of connections and messages.
	Channels channelactor.Limits
	// Services has the limits of sessions and requests.
	Services sessionactor.Limits
	// Subscriptions has the limits of subscriptions and monitored items.
	Subscriptions publishloop.Limits
	// Nodes has the limits of the address space.
	Nodes addrspace.Limits
}

// spread writes the limits that concern several floors into each of them.
func (l Limits) spread() Limits {
	if l.Sessions > 0 {
		l.Services.Sessions = l.Sessions
		if l.Channels.Channels == 0 {
			l.Channels.Channels = 2*l.Sessions + 100
		}
	}
	if l.MaxMessage > 0 {
		l.Channels.MaxMessage = l.MaxMessage
	}
	if l.ArrayLength > 0 {
		l.Services.ArrayLength = l.ArrayLength
	}
	return l
}
