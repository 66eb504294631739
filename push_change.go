package uahive

import (
	"crypto"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/pki"
)

// transaction is what a session wants to change, all of it at once (Part 12, 7.10.2). There is one at a time.
type transaction struct {
	session ua.NodeID
	start   time.Time
	lists   map[pki.Group]*pki.TrustList
	renewed map[pki.KeyType]renewal
}

// renewal is a certificate that is to replace the current one of its type.
type renewal struct {
	chain []byte
	key   crypto.Signer // nil for the current one
}

func (t *transaction) empty() bool { return len(t.lists)+len(t.renewed) == 0 }

// outcome is how the last transaction ended, for its diagnostics (Part 12, 7.10.17).
type outcome struct {
	start, end time.Time
	result     ua.StatusCode
	lists      []ua.NodeID
	groups     []ua.NodeID
}

// begin starts a change, or goes on with the caller's own.
func (p *push) begin(caller *Caller) error {
	if p.change != nil && p.change.session != caller.SessionID {
		return ua.BadTransactionPending
	}
	if p.change == nil {
		p.change = &transaction{
			session: caller.SessionID, start: time.Now(),
			lists: make(map[pki.Group]*pki.TrustList), renewed: make(map[pki.KeyType]renewal),
		}
		p.busy.Store(true)
	}
	return nil
}

// dropEmpty ends a change that came to nothing, so that it does not keep others waiting.
func (p *push) dropEmpty() {
	if p.change == nil || !p.change.empty() {
		return
	}
	for _, f := range p.files {
		if f.writing {
			return
		}
	}
	p.change = nil
}

// end closes the change and notes how it went.
func (p *push) end(result ua.StatusCode) {
	t := p.change
	p.change = nil
	o := &outcome{start: t.start, end: time.Now(), result: result, lists: []ua.NodeID{}, groups: []ua.NodeID{}}
	for g := range t.lists {
		o.lists = append(o.lists, trustLists[g])
	}
	if len(t.renewed) > 0 {
		o.groups = append(o.groups, applicationGroup)
	}
	p.last.Store(o)
}

func (p *push) bindOutcome() {
	read := func(get func(o *outcome) any) func() any {
		return func() any { return get(p.last.Load()) }
	}
	s := p.server
	s.live(id.ServerConfiguration_TransactionDiagnostics_StartTime, read(func(o *outcome) any { return ua.DateTimeOf(o.start) }))
	s.live(id.ServerConfiguration_TransactionDiagnostics_EndTime, read(func(o *outcome) any { return ua.DateTimeOf(o.end) }))
	s.live(id.ServerConfiguration_TransactionDiagnostics_Result, read(func(o *outcome) any { return o.result }))
	s.live(id.ServerConfiguration_TransactionDiagnostics_AffectedTrustLists, read(func(o *outcome) any { return o.lists }))
	s.live(id.ServerConfiguration_TransactionDiagnostics_AffectedCertificateGroups, read(func(o *outcome) any { return o.groups }))
}

// mine reports what keeps the caller from ending the change.
func (p *push) mine(caller *Caller) error {
	switch {
	case p.change == nil:
		return ua.BadNothingToDo
	case p.change.session != caller.SessionID:
		return ua.BadTransactionPending
	}
	return nil
}

func (p *push) cancelChanges(caller *Caller, _ *addrspace.Call) error {
	if err := p.mine(caller); err != nil {
		return err
	}
	for handle, f := range p.files {
		if f.writing && f.session == caller.SessionID {
			delete(p.files, handle)
		}
	}
	p.end(ua.BadRequestCancelledByClient)
	return nil
}

// applyChanges makes the change take effect, all of it or nothing. Channels that it concerns are closed after the
// answer.
func (p *push) applyChanges(caller *Caller, _ *addrspace.Call) error {
	if err := p.mine(caller); err != nil {
		return err
	}
	for _, f := range p.files {
		if f.writing {
			return ua.BadInvalidState
		}
	}
	t := p.change
	err := p.apply(t)
	if err != nil {
		p.log.Error().Err(err).Str("user", caller.User.Name).Msg("a change of certificates or trust lists failed, and was taken back")
		p.end(ua.BadTransactionFailed)
		return ua.BadTransactionFailed
	}
	p.end(ua.Good)
	p.who(caller).Int("lists", len(t.lists)).Int("certificates", len(t.renewed)).Msg("certificates or trust lists were changed")
	if len(t.renewed) > 0 {
		p.server.renegotiate()
	}
	return nil
}

// apply does what the change says, and takes back what it did where something fails.
func (p *push) apply(t *transaction) (err error) {
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for i := len(undo) - 1; i >= 0; i-- {
			if back := undo[i](); back != nil {
				p.log.Error().Err(back).Msg("a change of certificates or trust lists could not be taken back")
			}
		}
	}()
	for g, list := range t.lists {
		before, err := p.store.TrustList(g)
		if err != nil {
			return err
		}
		if err := p.store.SetTrustList(g, *list); err != nil {
			return err
		}
		undo = append(undo, func() error { return p.store.SetTrustList(g, before) })
	}
	for kind, r := range t.renewed {
		before := p.store.CertificateOf(kind)
		if err := p.store.Renew(r.chain, r.key); err != nil {
			return err
		}
		undo = append(undo, func() error { return p.store.Renew(before.Chain, before.Key) })
		delete(p.keys, kind)
	}
	return nil
}
