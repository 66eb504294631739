package sessionactor

import (
	"slices"

	"github.com/uahive/uahive/codec"
	"github.com/uahive/uahive/codec/ua"
)

// growNumbers is for how many results room is made at once where the response
// has outgrown what the batch had set aside for it.
const growNumbers = 1024

// appendNumbers serves the operations that come next as long as they are what
// nearly all Reads consist of: the value of a variable that holds a number,
// asked for without an index range or a data encoding. It serves at most left
// operations and stops when the response has passed end. What it stops at is
// for [Service.appendRead], which knows everything; nothing of it was consumed.
func (s *Service) appendNumbers(dst []byte, d *codec.Decoder, left, end int, op *readOp) (_ []byte, served int) {
	space := s.config.Space
	// The same timestamps as in readOp.stamp.
	var server ua.DateTime
	if op.timestamps == ua.TimestampsToReturnServer || op.timestamps == ua.TimestampsToReturnBoth {
		server = op.now
	}
	withSource := op.timestamps == ua.TimestampsToReturnSource || op.timestamps == ua.TimestampsToReturnBoth
	src, pos := d.Rest(), 0
	for served < left && len(dst) <= end {
		ns, id, size := ua.PlainRead(src[pos:])
		if size == 0 {
			break
		}
		node := space.Node(ua.NumericID(ns, id))
		if node == nil {
			break
		}
		variable := node.Variable()
		if variable == nil || node.Restricted() && !op.rights.May(node, ua.PermissionTypeRead) {
			break
		}
		number, ok := variable.LoadNumber()
		if !ok {
			break
		}
		if !withSource {
			number.SourceTimestamp = 0
		}
		at := len(dst)
		if cap(dst)-at < ua.MaxNumberSize {
			dst = slices.Grow(dst, min(left-served, growNumbers)*ua.MaxNumberSize)
		}
		dst = dst[:at+number.Put((*[ua.MaxNumberSize]byte)(dst[at:at+ua.MaxNumberSize]), server)]
		pos += size
		served++
	}
	d.Raw(pos)
	return dst, served
}
