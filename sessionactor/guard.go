package sessionactor

import (
	"runtime/debug"

	"github.com/uahive/uahive/codec/ua"
)

// guard calls user code. A panic in it costs that one operation: its status
// becomes BadInternalError and the stack goes to the log, never to the peer.
func (s *Service) guard(what string, node ua.NodeID, status *ua.StatusCode, call func()) {
	defer func() {
		if p := recover(); p != nil {
			*status = ua.BadInternalError
			s.stats.panics.Add(1)
			s.log.Error().Str("callback", what).Stringer("node", node).Interface("panic", p).
				Bytes("stack", debug.Stack()).Msg("panic in user code")
		}
	}()
	call()
}
