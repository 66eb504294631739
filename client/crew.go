package client

import (
	"context"
	"sync"

	"github.com/uahive/uahive/actors"
)

// goroutines starts all goroutines of this package. One group is shared by all
// clients, since ten thousand of them would cost more than what they count.
var goroutines actors.Group

// crew counts the goroutines of one client.
type crew struct {
	mu sync.Mutex
	// Guarded by mu.
	running int
	idle    chan struct{} // made by wait, closed when running becomes 0
}

// start runs fn on a goroutine of the named kind.
func (c *crew) start(name string, fn func()) {
	c.mu.Lock()
	c.running++
	c.mu.Unlock()
	goroutines.Go(name, func() {
		defer c.ended()
		fn()
	})
}

func (c *crew) ended() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.running == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// wait returns when no goroutine runs, or with the context's error.
func (c *crew) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.running == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
