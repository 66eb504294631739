package client

// events hands events to the configured hook, in their order and one at a time.
type events struct {
	// Guarded by the client's mu.
	pending  []Event
	emitting bool
}

// emit queues an event and, unless another goroutine is doing so, calls the
// hook for all that are queued.
func (c *Client) emit(e Event) {
	if c.cfg.OnEvent == nil {
		return
	}
	c.mu.Lock()
	c.pending = append(c.pending, e)
	if c.emitting {
		c.mu.Unlock()
		return
	}
	c.emitting = true
	for len(c.pending) > 0 {
		next := c.pending[0]
		c.pending = c.pending[1:]
		c.mu.Unlock()
		c.cfg.OnEvent(next)
		c.mu.Lock()
	}
	c.pending, c.emitting = nil, false
	c.mu.Unlock()
}
