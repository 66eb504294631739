package addrspace

import (
	"context"

	"github.com/uahive/uahive/codec/ua"
)

// ReadFunc produces a variable's value. An error becomes the value's status
// through ua.StatusOf.
type ReadFunc func(ctx context.Context) (ua.DataValue, error)

// WriteFunc takes a value that a client wrote. It was checked against the
// variable's access level, type, rank and dimensions, and its memory belongs to
// the function. rng is null unless a part of an array is written. An error
// becomes the operation's status through ua.StatusOf.
type WriteFunc func(ctx context.Context, dv ua.DataValue, rng ua.NumericRange) error

// Source stands behind a variable whose value is not, or not only, in memory.
// It is immutable once it is set.
type Source struct {
	// Read produces the value. nil: the value is the stored one.
	Read ReadFunc
	// Write takes values from clients. nil with a Read: the variable cannot
	// be written. With a Write and no Read, the value is stored after Write
	// returned without an error. Writes to one variable come one at a time.
	Write WriteFunc
	// Stored is called after a value that went through Write was stored, in the
	// turn of its write: for one variable in the order of the writes. rng is
	// that of the write. nil: nobody is told.
	Stored func(ctx context.Context, dv ua.DataValue, rng ua.NumericRange)
	// Inline says that Read never waits and takes no more than a few
	// microseconds (a counter, the time of day). It is then called on the
	// goroutine that serves the connection; all others run on the pool.
	Inline bool
}

// Source returns what stands behind the variable, or nil when it is in memory.
func (v *Variable) Source() *Source { return v.rare().source }

// SetSource sets what stands behind the variable; nil puts it in memory.
func (v *Variable) SetSource(src *Source) {
	v.node.space.mu.Lock()
	defer v.node.space.mu.Unlock()
	v.configure(func(c *variableConfig) { c.setSource(src) })
}

func (c *variableConfig) setSource(src *Source) {
	c.source = src
	if src != nil && src.Write != nil && c.writing == nil {
		c.writing = make(chan struct{}, 1)
	}
}

// BeginWrite waits for the variable's turn to be written through its Source:
// one write at a time, from the call of Source.Write until its value is stored,
// so that what is stored is what the source took last. It returns the context's
// error when that ends first. EndWrite ends the turn.
func (v *Variable) BeginWrite(ctx context.Context) error {
	turn := v.rare().writing
	if turn == nil {
		return nil
	}
	select {
	case turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// EndWrite ends what BeginWrite began.
func (v *Variable) EndWrite() {
	if turn := v.rare().writing; turn != nil {
		<-turn
	}
}
