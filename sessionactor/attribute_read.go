package sessionactor

import (
	"context"
	"encoding/binary"
	"math"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// read serves Read (Part 4, 5.11.2) in one pass: each operation is decoded where
// it is served, and values in memory are encoded straight into the response. As
// soon as one operation needs user code that can wait, the whole request goes to
// the worker pool. A request that turns out to be malformed gets a fault and
// nothing of what was read before.
func read(x *exchange) {
	d := &x.body
	maxAge, timestamps := d.Float64(), ua.TimestampsToReturn(d.Int32())
	n := d.ArrayLen(16)
	if code := x.service.checkRead(n, maxAge, timestamps); code != ua.Good {
		x.fault(x.passReads(n, code))
		return
	}
	dst := x.begin(id.ReadResponse_Encoding_DefaultBinary, ua.Good)
	dst = codec.AppendInt32(dst, int32(n))
	dst, outcome := x.appendReads(dst, n, timestamps)
	switch outcome {
	case readWaits:
		x.batch.Drop(dst)
		x.readLater()
	case readTooLarge:
		x.batch.Drop(dst)
		x.fault(ua.BadResponseTooLarge)
	case readMalformed:
		x.batch.Drop(dst)
		x.fault(ua.StatusOf(d.Err()))
	default:
		x.end(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
	}
}

type readOutcome uint8

const (
	readDone readOutcome = iota
	readWaits
	readTooLarge
	readMalformed
)

// appendReads reads all nodes in one view, so that the values of a transaction
// are all old or all new.
func (x *exchange) appendReads(dst []byte, n int, timestamps ua.TimestampsToReturn) ([]byte, readOutcome) {
	s, d := x.service, &x.body
	end := len(dst) + x.channel.MaxResponse()
	op := readOp{ReadValueID: &x.operation, timestamps: timestamps, now: ua.DateTimeOf(x.now), viewed: n > 1, batch: x.batch, rights: x.rights}
	if op.viewed {
		s.config.Space.BeginView()
		defer s.config.Space.EndView()
	}
	for left := n; ; left-- {
		var served int
		dst, served = s.appendNumbers(dst, d, left, end-x.batch.Shared(), &op)
		left -= served
		if len(dst)+x.batch.Shared() > end {
			return dst, readTooLarge
		}
		if left == 0 {
			break
		}
		op.DecodeFrom(d)
		if d.Err() != nil {
			return dst, readMalformed
		}
		var waits bool
		if dst, waits = s.appendRead(dst, &op); waits {
			return dst, readWaits
		}
	}
	if d.Finish() != nil {
		return dst, readMalformed
	}
	return dst, readDone
}

// checkRead checks what stands around the operations.
func (s *Service) checkRead(n int, maxAge float64, timestamps ua.TimestampsToReturn) ua.StatusCode {
	switch {
	case n <= 0:
		return ua.BadNothingToDo
	case n > s.limits.NodesPerRead:
		return ua.BadTooManyOperations
	case maxAge < 0 || math.IsNaN(maxAge):
		return ua.BadMaxAgeInvalid
	case timestamps < ua.TimestampsToReturnSource || timestamps > ua.TimestampsToReturnNeither:
		return ua.BadTimestampsToReturnInvalid
	}
	return ua.Good
}

// passReads passes over the operations of a request that is refused with the
// given code. That a request is malformed comes before what it says.
func (x *exchange) passReads(n int, code ua.StatusCode) ua.StatusCode {
	d := &x.body
	for i := 0; i < n && d.Err() == nil; i++ {
		x.operation.DecodeFrom(d)
	}
	if err := d.Finish(); err != nil {
		return ua.StatusOf(err)
	}
	return code
}

// readOp is one operation of a Read.
type readOp struct {
	*ua.ReadValueID
	timestamps ua.TimestampsToReturn
	now        ua.DateTime
	rights     *addrspace.Rights   // of who reads
	viewed     bool                // inside a view of the space
	batch      *channelactor.Batch // that large arrays are shared with, see shareArray; may be nil
}

// finish applies index range and timestamps to a value that was read.
func (op *readOp) finish(dv *ua.DataValue, rng ua.NumericRange) {
	if op.IndexRange != "" && !dv.Value.IsNull() {
		part, code := dv.Value.Slice(rng)
		if code != ua.Good {
			*dv = ua.DataValue{Status: code}
		} else {
			dv.Value = part
		}
	}
	op.stamp(dv)
}

// stamp keeps the timestamps that were asked for. The server's is the time of
// the Read.
func (op *readOp) stamp(dv *ua.DataValue) {
	if op.AttributeID != ua.AttributeIDValue {
		dv.SourceTimestamp, dv.SourcePicoseconds = 0, 0
	}
	dv.ServerTimestamp, dv.ServerPicoseconds = op.now, 0
	switch op.timestamps {
	case ua.TimestampsToReturnSource:
		dv.ServerTimestamp = 0
	case ua.TimestampsToReturnServer:
		dv.SourceTimestamp, dv.SourcePicoseconds = 0, 0
	case ua.TimestampsToReturnNeither:
		dv.SourceTimestamp, dv.SourcePicoseconds, dv.ServerTimestamp = 0, 0, 0
	}
}

// checkEncoding checks the DataEncoding, which only makes sense for values
// (Part 4, 5.11.2.2): Default Binary is what is sent anyway.
func checkEncoding(op *ua.ReadValueID) ua.StatusCode {
	switch name := op.DataEncoding; {
	case name == ua.QualifiedName{}:
		return ua.Good
	case op.AttributeID != ua.AttributeIDValue:
		return ua.BadDataEncodingInvalid
	case name == ua.QualifiedName{Name: "Default Binary"}:
		return ua.Good
	case name == ua.QualifiedName{Name: "Default XML"}, name == ua.QualifiedName{Name: "Default JSON"}:
		return ua.BadDataEncodingUnsupported
	}
	return ua.BadDataEncodingInvalid
}

// appendRead reads one attribute and appends its DataValue. It reports whether
// the operation has to wait for user code; nothing is appended then.
func (s *Service) appendRead(dst []byte, op *readOp) (_ []byte, waits bool) {
	node := s.config.Space.Node(op.NodeID)
	if node == nil {
		if s.config.Space.Manager(op.NodeID.Namespace()) != nil {
			return dst, true
		}
		return appendStatus(dst, op, ua.BadNodeIDUnknown), false
	}
	if op.AttributeID != ua.AttributeIDValue {
		dv := s.readAttribute(node, op)
		return dv.AppendTo(dst), false
	}
	variable := node.Variable()
	if variable == nil {
		dv := s.readAttribute(node, op)
		return dv.AppendTo(dst), false
	}
	rng, code := prepareValueRead(op, variable)
	if code != ua.Good {
		return appendStatus(dst, op, code), false
	}
	if source := variable.Source(); source != nil && source.Read != nil {
		if !source.Inline {
			return dst, true
		}
		dv := s.readInline(source, variable.Node().ID(), op.viewed)
		op.finish(&dv, rng)
		return dv.AppendTo(dst), false
	}
	dv, encoded := variable.LoadEncoded()
	if op.IndexRange == "" {
		op.stamp(&dv)
		if shared, ok := shareArray(op.batch, dst, &dv, encoded); ok {
			return shared, false
		}
		if encoded != nil {
			return appendEncoded(dst, &dv, encoded), false
		}
		return dv.AppendTo(dst), false
	}
	op.finish(&dv, rng)
	return dv.AppendTo(dst), false
}

// readInline calls a source that does not wait. It is outside of the view, which
// must not be held across code of others.
func (s *Service) readInline(source *addrspace.Source, node ua.NodeID, viewed bool) (dv ua.DataValue) {
	if viewed {
		s.config.Space.EndView()
		defer s.config.Space.BeginView()
	}
	code := ua.Good
	s.guard("OnRead", node, &code, func() { dv = callRead(s.base, source) })
	if code != ua.Good {
		return ua.DataValue{Status: code}
	}
	return dv
}

// prepareValueRead checks whether a value may be read, and which part of it.
func prepareValueRead(op *readOp, variable *addrspace.Variable) (rng ua.NumericRange, code ua.StatusCode) {
	if code = checkEncoding(op.ReadValueID); code != ua.Good {
		return rng, code
	}
	if op.IndexRange != "" {
		if rng, code = ua.ParseNumericRange(op.IndexRange); code != ua.Good {
			return rng, code
		}
	}
	if variable.AccessLevel()&ua.AccessLevelTypeCurrentRead == 0 {
		return rng, ua.BadNotReadable
	}
	if variable.UserAccessLevel()&ua.AccessLevelTypeCurrentRead == 0 {
		return rng, ua.BadUserAccessDenied
	}
	return rng, op.rights.Check(variable.Node(), ua.PermissionTypeRead)
}

// readAttribute reads what is no Variable's value.
func (s *Service) readAttribute(node *addrspace.Node, op *readOp) (dv ua.DataValue) {
	dv.Value, dv.Status = node.AttributeFor(op.rights, op.AttributeID)
	if dv.Status == ua.Good {
		dv.Status = op.rights.CheckRead(node, op.AttributeID)
	}
	if dv.Status == ua.Good {
		dv.Status = checkEncoding(op.ReadValueID)
	}
	var rng ua.NumericRange
	if dv.Status == ua.Good && op.IndexRange != "" {
		rng, dv.Status = ua.ParseNumericRange(op.IndexRange)
	}
	if dv.Status != ua.Good {
		dv.Value = ua.Variant{}
	}
	op.finish(&dv, rng)
	return dv
}

func appendStatus(dst []byte, op *readOp, code ua.StatusCode) []byte {
	dv := ua.DataValue{Status: code}
	op.stamp(&dv)
	return dv.AppendTo(dst)
}

// appendEncoded appends a DataValue whose Variant is encoded already.
func appendEncoded(dst []byte, dv *ua.DataValue, encoded []byte) []byte {
	const hasValue = 0x01 // Part 6, 5.2.2.17
	value := dv.Value
	dv.Value = ua.Variant{}
	mark := len(dst)
	dst = dv.AppendTo(dst)
	dv.Value = value
	dst[mark] |= hasValue
	tail := len(dst) - mark - 1
	dst = append(dst, encoded...)
	// The value stands between the mask and the other fields.
	copy(dst[mark+1+len(encoded):], dst[mark+1:mark+1+tail])
	copy(dst[mark+1:], encoded)
	return dst
}

// callRead asks user code for a value; what goes wrong there is the value's status.
func callRead(ctx context.Context, source *addrspace.Source) (dv ua.DataValue) {
	dv, err := source.Read(ctx)
	if err != nil {
		return ua.DataValue{Status: ua.StatusOf(err)}
	}
	if dv.SourceTimestamp == 0 && !dv.Value.IsNull() {
		dv.SourceTimestamp = ua.DateTimeOf(time.Now())
	}
	return dv
}

// readLater runs a Read on the worker pool.
func (x *exchange) readLater() {
	req := new(ua.ReadRequest)
	if code := x.decodeCopy(req); code != ua.Good {
		x.fault(code)
		return
	}
	r := x.deferCall()
	x.later(r, func(ctx context.Context) {
		results := r.service.readAll(ctx, r.session, req)
		// What is encoded at once is bounded by the cores and not by the workers.
		r.service.encoding <- struct{}{}
		defer func() { <-r.service.encoding }()
		// One value may stand in the response ten thousand times: what it takes
		// is seen while it is encoded.
		dst, most := r.begin(id.ReadResponse_Encoding_DefaultBinary), r.channel.MaxResponse()
		dst = codec.AppendInt32(dst, int32(len(results)))
		for i := range results {
			if dst = results[i].AppendTo(dst); len(dst) > most {
				r.fault(ua.BadResponseTooLarge)
				return
			}
		}
		r.respondEncoded(append(dst, 0xFF, 0xFF, 0xFF, 0xFF)) // no diagnostic infos
	})
}

// readAll reads with user code: sources one by one, managers with one batch each.
func (s *Service) readAll(ctx context.Context, session *Session, req *ua.ReadRequest) []ua.DataValue {
	results := make([]ua.DataValue, len(req.NodesToRead))
	managed := make(map[uint16][]int)
	now := ua.DateTimeOf(time.Now())
	for i := range req.NodesToRead {
		op := readOp{ReadValueID: &req.NodesToRead[i], timestamps: req.TimestampsToReturn, now: now, rights: session.rights()}
		node := s.config.Space.Node(op.NodeID)
		if node == nil {
			if _, ok := s.config.Space.Manager(op.NodeID.Namespace()).(addrspace.Reader); ok {
				managed[op.NodeID.Namespace()] = append(managed[op.NodeID.Namespace()], i)
				continue
			}
			results[i].Status = ua.BadNodeIDUnknown
			op.stamp(&results[i])
			continue
		}
		results[i] = s.readNode(ctx, node, &op)
	}
	for ns, indices := range managed {
		s.readManaged(ctx, session.rights(), ns, indices, req, results)
	}
	return results
}

func (s *Service) readNode(ctx context.Context, node *addrspace.Node, op *readOp) ua.DataValue {
	variable := node.Variable()
	if variable == nil || op.AttributeID != ua.AttributeIDValue {
		return s.readAttribute(node, op)
	}
	rng, code := prepareValueRead(op, variable)
	if code != ua.Good {
		dv := ua.DataValue{Status: code}
		op.stamp(&dv)
		return dv
	}
	var dv ua.DataValue
	if source := variable.Source(); source != nil && source.Read != nil {
		s.guard("OnRead", node.ID(), &dv.Status, func() { dv = callRead(ctx, source) })
	} else {
		dv = variable.Load()
	}
	op.now = ua.DateTimeOf(time.Now())
	op.finish(&dv, rng)
	return dv
}

func (s *Service) readManaged(
	ctx context.Context, rights *addrspace.Rights, ns uint16, indices []int, req *ua.ReadRequest, results []ua.DataValue,
) {
	reader := s.config.Space.Manager(ns).(addrspace.Reader)
	items := make([]addrspace.ReadItem, 0, len(indices))
	ops := make([]readOp, 0, len(indices))
	ranges := make([]ua.NumericRange, 0, len(indices))
	places := make([]int, 0, len(indices))
	for _, i := range indices {
		op := readOp{ReadValueID: &req.NodesToRead[i], timestamps: req.TimestampsToReturn, now: ua.DateTimeOf(time.Now())}
		code := checkEncoding(op.ReadValueID)
		if code == ua.Good {
			// The class is the manager's secret: a value counts as that of a Variable.
			code = rights.CheckAbsent(ns, addrspace.ReadPermission(op.AttributeID, ua.NodeClassVariable))
		}
		var rng ua.NumericRange
		if code == ua.Good && op.IndexRange != "" {
			rng, code = ua.ParseNumericRange(op.IndexRange)
		}
		if code != ua.Good {
			results[i].Status = code
			op.stamp(&results[i])
			continue
		}
		items = append(items, addrspace.ReadItem{
			NodeID: op.NodeID, Attribute: op.AttributeID, MaxAge: req.MaxAge,
			Result: ua.DataValue{Status: ua.BadNodeIDUnknown},
		})
		ops, ranges, places = append(ops, op), append(ranges, rng), append(places, i)
	}
	if len(items) == 0 {
		return
	}
	code := ua.Good
	s.guard("Read", ua.NodeID{}, &code, func() { reader.Read(ctx, items) })
	for k := range items {
		dv := items[k].Result
		if code != ua.Good {
			dv = ua.DataValue{Status: code}
		}
		ops[k].now = ua.DateTimeOf(time.Now())
		ops[k].finish(&dv, ranges[k])
		results[places[k]] = dv
	}
}

// patchCount writes the number of elements of an array that was encoded before
// they were counted.
func patchCount(dst []byte, at, count int) {
	binary.LittleEndian.PutUint32(dst[at:], uint32(int32(count)))
}
