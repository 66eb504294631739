package sessionactor

import (
	"context"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// write serves Write (Part 4, 5.11.4). Values in memory are checked and stored
// where the request arrived; a request that reaches user code goes to the
// worker pool as a whole, so that its operations keep their order.
func write(x *exchange) {
	req := &x.write
	if code := x.decode(req); code != ua.Good {
		x.fault(code)
		return
	}
	switch {
	case len(req.NodesToWrite) == 0:
		x.fault(ua.BadNothingToDo)
		return
	case len(req.NodesToWrite) > x.service.limits.NodesPerWrite:
		x.fault(ua.BadTooManyOperations)
		return
	case x.service.writesWait(req):
		x.writeLater()
		return
	}
	dst := x.begin(id.WriteResponse_Encoding_DefaultBinary, ua.Good)
	dst = codec.AppendInt32(dst, int32(len(req.NodesToWrite)))
	for i := range req.NodesToWrite {
		code := ua.BadTimeout
		if !x.overtime(i, 8) {
			u := x.auditWrite(&req.NodesToWrite[i])
			code = x.service.writeOne(x.service.base, x.rights, &req.NodesToWrite[i])
			u.wrote(code)
		}
		dst = codec.AppendUint32(dst, uint32(code))
	}
	x.end(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
}

// writesWait reports whether an operation calls user code or a manager.
func (s *Service) writesWait(req *ua.WriteRequest) bool {
	for i := range req.NodesToWrite {
		op := &req.NodesToWrite[i]
		node := s.config.Space.Node(op.NodeID)
		if node == nil {
			if s.config.Space.Manager(op.NodeID.Namespace()) != nil {
				return true
			}
			continue
		}
		if v := node.Variable(); v != nil && op.AttributeID == ua.AttributeIDValue {
			if source := v.Source(); source != nil && source.Write != nil && !source.Inline {
				return true
			}
		}
	}
	return false
}

func (x *exchange) writeLater() {
	req := new(ua.WriteRequest)
	if code := x.decodeCopy(req); code != ua.Good {
		x.fault(code)
		return
	}
	r := x.deferCall()
	x.later(r, func(ctx context.Context) {
		resp := &ua.WriteResponse{Results: r.service.writeAll(ctx, r.session, req)}
		r.respond(resp, &resp.ResponseHeader)
	})
}

// writeAll writes in the order of the request; neighbours that go to the same
// manager go together.
func (s *Service) writeAll(ctx context.Context, session *Session, req *ua.WriteRequest) []ua.StatusCode {
	results := make([]ua.StatusCode, len(req.NodesToWrite))
	for i := 0; i < len(req.NodesToWrite); {
		if ctx.Err() != nil {
			results[i] = ua.StatusOf(ctx.Err())
			i++
			continue
		}
		writer := s.writer(&req.NodesToWrite[i])
		if writer == nil {
			u := s.auditWrites(ctx, req.NodesToWrite[i:i+1])
			results[i] = s.writeOne(ctx, session.rights(), &req.NodesToWrite[i])
			u.wrote(results[i])
			i++
			continue
		}
		end := i + 1
		for end < len(req.NodesToWrite) && req.NodesToWrite[end].NodeID.Namespace() == req.NodesToWrite[i].NodeID.Namespace() &&
			s.writer(&req.NodesToWrite[end]) != nil {
			end++
		}
		u := s.auditWrites(ctx, req.NodesToWrite[i:end])
		s.writeManaged(ctx, session.rights(), writer, req.NodesToWrite[i:end], results[i:end])
		u.wrote(results[i:end]...)
		i = end
	}
	return results
}

// writer returns the manager that takes writes to a node which is not in the space.
func (s *Service) writer(op *ua.WriteValue) addrspace.Writer {
	if s.config.Space.Node(op.NodeID) != nil {
		return nil
	}
	writer, _ := s.config.Space.Manager(op.NodeID.Namespace()).(addrspace.Writer)
	return writer
}

// writeOne writes one attribute of a node in the space.
func (s *Service) writeOne(ctx context.Context, rights *addrspace.Rights, op *ua.WriteValue) ua.StatusCode {
	node := s.config.Space.Node(op.NodeID)
	if node == nil {
		return ua.BadNodeIDUnknown
	}
	var rng ua.NumericRange
	if op.IndexRange != "" {
		var code ua.StatusCode
		if rng, code = ua.ParseNumericRange(op.IndexRange); code != ua.Good {
			return code
		}
	}
	attribute := op.AttributeID
	variable := node.Variable()
	if attribute != ua.AttributeIDValue || variable == nil {
		return node.WriteAttribute(rights, attribute, &op.Value, rng)
	}
	if !rights.May(node, ua.PermissionTypeWrite) {
		if variable.AccessLevel()&ua.AccessLevelTypeCurrentWrite == 0 {
			return ua.BadNotWritable // for everybody
		}
		return rights.Check(node, ua.PermissionTypeWrite)
	}
	source := variable.Source()
	if source == nil || source.Write == nil {
		return variable.WriteDecoded(&op.Value, rng)
	}
	prepared, code := variable.PrepareDecoded(&op.Value, rng)
	if code != ua.Good {
		return code
	}
	if err := variable.BeginWrite(ctx); err != nil {
		return ua.StatusOf(err)
	}
	defer variable.EndWrite()
	s.guard("OnWrite", node.ID(), &code, func() { code = ua.StatusOf(source.Write(ctx, prepared, rng)) })
	if code.IsBad() || source.Read != nil {
		return code
	}
	if stored := variable.CommitWrite(prepared, rng); stored != ua.Good {
		return stored
	}
	if source.Stored != nil {
		panicked := ua.Good // costs the write nothing: its value is stored
		s.guard("AfterWrite", node.ID(), &panicked, func() { source.Stored(ctx, prepared, rng) })
	}
	return code
}

func (s *Service) writeManaged(
	ctx context.Context, rights *addrspace.Rights, writer addrspace.Writer, ops []ua.WriteValue, results []ua.StatusCode,
) {
	items := make([]addrspace.WriteItem, 0, len(ops))
	places := make([]int, 0, len(ops))
	for i := range ops {
		item := addrspace.WriteItem{
			NodeID: ops[i].NodeID, Attribute: ops[i].AttributeID,
			Value: ops[i].Value, Result: ua.BadNodeIDUnknown,
		}
		permission := addrspace.WritePermission(ops[i].AttributeID, ua.NodeClassVariable)
		if results[i] = rights.CheckAbsent(ops[i].NodeID.Namespace(), permission); results[i] != ua.Good {
			continue
		}
		if ops[i].IndexRange != "" {
			if item.Range, results[i] = ua.ParseNumericRange(ops[i].IndexRange); results[i] != ua.Good {
				continue
			}
		}
		items, places = append(items, item), append(places, i)
	}
	if len(items) == 0 {
		return
	}
	failed := ua.Good
	s.guard("Write", items[0].NodeID, &failed, func() { writer.Write(ctx, items) })
	for k, i := range places {
		results[i] = items[k].Result
		if failed != ua.Good {
			results[i] = failed
		}
	}
}
