package addrspace

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Tx collects values of several variables that change together. It belongs to
// the function that [Space.Update] calls and is of no use after it.
type Tx struct {
	writes []txWrite
	places map[*Variable]int // nil while there are few writes
}

type txWrite struct {
	variable *Variable
	value    ua.DataValue
}

const fewWrites = 16

// Set gives a variable a good value with the transaction's timestamp. Nothing
// is visible before the transaction commits; of several values for one variable
// the last one counts. The value is owned and not checked, as in
// [Variable.Store].
func (tx *Tx) Set(v *Variable, value ua.Variant) { tx.Store(v, ua.DataValue{Value: value}) }

// Store is Set with a status, or a source timestamp of the value's own.
func (tx *Tx) Store(v *Variable, dv ua.DataValue) {
	if i := tx.place(v); i >= 0 {
		tx.writes[i].value = dv
		return
	}
	tx.writes = append(tx.writes, txWrite{v, dv})
	if tx.places != nil {
		tx.places[v] = len(tx.writes) - 1
	} else if len(tx.writes) > fewWrites {
		tx.places = make(map[*Variable]int, 4*fewWrites)
		for i := range tx.writes {
			tx.places[tx.writes[i].variable] = i
		}
	}
}

func (tx *Tx) place(v *Variable) int {
	if tx.places != nil {
		if i, ok := tx.places[v]; ok {
			return i
		}
		return -1
	}
	for i := range tx.writes {
		if tx.writes[i].variable == v {
			return i
		}
	}
	return -1
}

// Update runs f and then makes all values that it set visible as one change:
// with one timestamp, and for every view (see [Space.BeginView]) all or none of
// them. When f returns an error, nothing changes and the error is returned.
//
// f runs outside of all locks. Transactions and single stores by others may
// come before or after, never in between as far as a view can see; two
// transactions that set the same variable are applied one after the other.
// Values that equal the ones that are there keep their old timestamp, as in
// [Variable.Store]. Views wait while a transaction commits, which includes that
// all watchers are told.
func (s *Space) Update(f func(tx *Tx) error) error {
	var tx Tx
	if err := f(&tx); err != nil {
		return err
	}
	if len(tx.writes) == 0 {
		return nil
	}
	s.view.Lock()
	defer s.view.Unlock()
	// Taken under the lock, so that the timestamps of transactions have the
	// order of the transactions.
	now := ua.DateTimeOf(time.Now())
	for i := range tx.writes {
		tx.writes[i].variable.storeAt(&tx.writes[i].value, nil, now)
	}
	return nil
}
