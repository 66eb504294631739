package sessionactor

import (
	"context"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/audit"
	"github.com/uahive/uahive/codec/ua"
)

// updates are the operations of a Write or Call request while they are done, for the
// audit trail. It is nil, which everything may be asked of, where nobody wants to know.
type updates struct {
	trail  *audit.Trail
	who    audit.Who
	writes []audit.Write
	calls  []audit.Call
}

// whoCalls is the client behind the context of a request that is served on the worker
// pool, and its user.
func whoCalls(ctx context.Context) audit.Who {
	caller, ok := ctx.Value(callerKey{}).(*Caller)
	if !ok || caller.session == nil {
		return audit.Who{Time: time.Now()}
	}
	bound := caller.session.bound.Load()
	if bound == nil {
		return audit.Who{Time: time.Now(), EntryID: caller.entry, Application: caller.ApplicationURI, User: caller.User.Name}
	}
	return caller.session.who(bound.channel, time.Now(), caller.entry, bound)
}

// auditWrite begins to audit an operation that is done where it arrived.
func (x *exchange) auditWrite(op *ua.WriteValue) *updates {
	if !x.service.trail().Wanted() {
		return nil
	}
	u := &updates{trail: x.service.trail(), who: x.who()}
	u.write(x.service.config.Space, op)
	return u
}

// auditWrites begins to audit operations that are done on the worker pool.
func (s *Service) auditWrites(ctx context.Context, ops []ua.WriteValue) *updates {
	if !s.trail().Wanted() {
		return nil
	}
	u := &updates{trail: s.trail(), who: whoCalls(ctx)}
	for i := range ops {
		u.write(s.config.Space, &ops[i])
	}
	return u
}

// write looks at the value that is about to be replaced. The new one is copied, since
// storing it may take it away.
func (u *updates) write(space *addrspace.Space, op *ua.WriteValue) {
	u.writes = append(u.writes, audit.Write{
		Node: op.NodeID, Attribute: op.AttributeID, IndexRange: op.IndexRange,
		Old: oldValue(space, op), New: op.Value.Value.Clone(),
	})
}

// oldValue is what an attribute holds, or the range of it that is to be written. It is
// null for the values of nodes that the program answers for: it is not asked for them.
func oldValue(space *addrspace.Space, op *ua.WriteValue) ua.Variant {
	node := space.Node(op.NodeID)
	if node == nil {
		return ua.Variant{}
	}
	var value ua.Variant
	variable := node.Variable()
	if op.AttributeID != ua.AttributeIDValue || variable == nil {
		value, _ = node.Attribute(op.AttributeID)
	} else if source := variable.Source(); source == nil || source.Read == nil {
		value = variable.Load().Value
	}
	if op.IndexRange == "" || value.IsNull() {
		return value
	}
	rng, code := ua.ParseNumericRange(op.IndexRange)
	if code != ua.Good {
		return ua.Variant{}
	}
	value, code = value.Slice(rng)
	if code != ua.Good {
		return ua.Variant{}
	}
	return value
}

// auditCalls begins to audit calls of methods. Their inputs are copied, since they are
// the methods' to keep.
func (s *Service) auditCalls(ctx context.Context, calls []ua.CallMethodRequest) *updates {
	if !s.trail().Wanted() {
		return nil
	}
	u := &updates{trail: s.trail(), who: whoCalls(ctx)}
	for i := range calls {
		m := &calls[i]
		call := audit.Call{Object: m.ObjectID, Method: m.MethodID}
		if node, run, _ := s.config.Space.FindMethod(m.ObjectID, m.MethodID); node != nil {
			call.Name, call.Secret = node.BrowseName(), run != nil && run.Secret
		}
		if object := s.config.Space.Node(m.ObjectID); object != nil {
			if typ := object.TypeDefinition(); typ != nil {
				call.ObjectType = typ.ID()
			}
		}
		for _, input := range m.InputArguments {
			call.Inputs = append(call.Inputs, input.Clone())
		}
		u.calls = append(u.calls, call)
	}
	return u
}

// wrote records the writes with their results.
func (u *updates) wrote(results ...ua.StatusCode) {
	if u == nil {
		return
	}
	for i := range u.writes {
		u.trail.Record(u.writes[i].Entry(u.who, results[i]))
	}
}

// called records the calls with their results.
func (u *updates) called(results ...ua.CallMethodResult) {
	if u == nil {
		return
	}
	for i := range u.calls {
		u.calls[i].Outputs = results[i].OutputArguments
		u.trail.Record(u.calls[i].Entry(u.who, results[i].StatusCode))
	}
}
