package uahive

import (
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
)

// Tx collects values that change together; see [Server.Update]. It is of no use
// outside of the function that it was given to.
type Tx struct {
	tx *addrspace.Tx
	at time.Time
}

// At sets the source timestamp of the values that are set after it. The zero
// time, which is the default, stands for the time of the update, the same for
// all of them.
func (tx *Tx) At(t time.Time) { tx.at = t }

// SetIn is Set as a part of an [Server.Update].
func (v *Variable[T]) SetIn(tx *Tx, value T) {
	if v.cell != nil {
		tx.tx.Store(v.cell, v.dataValue(value, ua.Good, tx.at))
	}
}

// SetStatusIn is SetIn with a status.
func (v *Variable[T]) SetStatusIn(tx *Tx, value T, status ua.StatusCode) {
	if v.cell != nil {
		tx.tx.Store(v.cell, v.dataValue(value, status, tx.at))
	}
}

// Update changes several variables as one: a Read of several of them, and each
// message of a subscription, has either all of the new values or none.
//
//	srv.Update(func(tx *uahive.Tx) {
//		speed.SetIn(tx, 40)
//		state.SetIn(tx, Running)
//	})
//
// The function only collects; values become visible when it has returned, and
// none of them if it panics. Of two values for one variable the last one counts.
func (s *Server) Update(f func(tx *Tx)) {
	// The error is the function's own, and it has none.
	_ = s.space.Update(func(tx *addrspace.Tx) error {
		f(&Tx{tx: tx})
		return nil
	})
}
