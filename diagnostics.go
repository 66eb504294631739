package uahive

import (
	"context"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// diagnostics is the ServerDiagnosticsSummaryDataType of this moment (Part 5, 12.9).
func (s *Server) diagnostics() *ua.ServerDiagnosticsSummaryDataType {
	sessions, subscriptions, channels := s.sessions.Stats(), s.subs.Stats(), s.channels.Stats()
	return &ua.ServerDiagnosticsSummaryDataType{
		CurrentSessionCount:           uint32(sessions.Sessions),
		CumulatedSessionCount:         uint32(sessions.Created),
		SecurityRejectedSessionCount:  uint32(sessions.Denied + channels.RefusedSecurity),
		RejectedSessionCount:          uint32(sessions.Refused + sessions.Denied),
		SessionTimeoutCount:           uint32(sessions.TimedOut),
		SessionAbortCount:             uint32(sessions.Aborted),
		PublishingIntervalCount:       uint32(subscriptions.PublishingIntervals),
		CurrentSubscriptionCount:      uint32(subscriptions.Subscriptions),
		CumulatedSubscriptionCount:    uint32(subscriptions.SubscriptionsCreated),
		SecurityRejectedRequestsCount: uint32(channels.RefusedSecurity),
		RejectedRequestsCount:         uint32(sessions.FailedRequests),
	}
}

// bindDiagnostics connects the ServerDiagnostics object (Part 5, 6.3.3 to 6.3.5).
// The summary is for everybody: it names nobody. The arrays show a user its own
// session and subscriptions, and all of them to administrators on an encrypted
// channel. They are made when they are read, on the worker pool, and cost a session
// nothing; whoever monitors them is refused, since samples have no caller. Arrays that
// are larger than a message are read in parts, with index ranges.
//
// There is no object for each session: the type has it as an optional placeholder
// (Part 5, 6.3.4), and ten thousand sessions would be half a million nodes.
func (s *Server) bindDiagnostics() {
	s.fixed(id.Server_ServerDiagnostics_EnabledFlag, true)
	s.readOnly(id.Server_ServerDiagnostics_EnabledFlag)
	personal(s, id.Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray, s.sessions.SessionDiagnostics)
	personal(s, id.Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray, s.sessions.SecurityDiagnostics)
	personal(s, id.Server_ServerDiagnostics_SubscriptionDiagnosticsArray, s.sessions.SubscriptionDiagnostics)
	s.live(id.Server_ServerDiagnostics_ServerDiagnosticsSummary, func() any { return s.diagnostics() })
	for node, read := range map[uint32]func(d *ua.ServerDiagnosticsSummaryDataType) uint32{
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_ServerViewCount:               func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.ServerViewCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSessionCount:           func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.CurrentSessionCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSessionCount:         func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.CumulatedSessionCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_SecurityRejectedSessionCount:  func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.SecurityRejectedSessionCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_RejectedSessionCount:          func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.RejectedSessionCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_SessionTimeoutCount:           func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.SessionTimeoutCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_SessionAbortCount:             func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.SessionAbortCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_PublishingIntervalCount:       func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.PublishingIntervalCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSubscriptionCount:      func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.CurrentSubscriptionCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CumulatedSubscriptionCount:    func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.CumulatedSubscriptionCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_SecurityRejectedRequestsCount: func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.SecurityRejectedRequestsCount },
		id.Server_ServerDiagnostics_ServerDiagnosticsSummary_RejectedRequestsCount:         func(d *ua.ServerDiagnosticsSummaryDataType) uint32 { return d.RejectedRequestsCount },
	} {
		s.live(node, func() any { return read(s.diagnostics()) })
	}
}

// personal connects a variable with a function that answers each caller otherwise.
func personal[T any](s *Server, node uint32, read func(c *Caller) ([]T, ua.StatusCode)) {
	n := s.space.Node(ua.NumericID(0, node))
	if n == nil {
		return
	}
	n.Variable().SetSource(&addrspace.Source{Read: func(ctx context.Context) (ua.DataValue, error) {
		caller, ok := CallerFrom(ctx)
		if !ok {
			return ua.DataValue{}, ua.BadUserAccessDenied
		}
		list, code := read(&caller)
		if code != ua.Good {
			return ua.DataValue{}, code
		}
		v, err := ua.ValueOf(list)
		return ua.DataValue{Value: v}, err
	}})
}

// readOnly takes away the right to write that namespace 0 gives to everybody.
func (s *Server) readOnly(node uint32) {
	if n := s.space.Node(ua.NumericID(0, node)); n != nil {
		n.SetAttribute(ua.AttributeIDAccessLevel, ua.VariantOf(uint8(ua.AccessLevelTypeCurrentRead)))
	}
}
