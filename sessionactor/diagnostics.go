package sessionactor

import (
	"cmp"
	"slices"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/publishloop"
)

// Administers reports whether a caller may see what tells about other clients: it
// has the role SecurityAdmin or ConfigureAdmin (Part 18, 4.3), and what it is told
// travels encrypted.
func (c *Caller) Administers() bool {
	return c.Encrypted && c.HasRole(RoleSecurityAdmin, RoleConfigureAdmin)
}

// SecurityAdministers is Administers for what tells how others prove who they are:
// it takes the role SecurityAdmin.
func (c *Caller) SecurityAdministers() bool {
	return c.Encrypted && c.HasRole(RoleSecurityAdmin)
}

// visible returns the sessions of which a caller may see the diagnostics, in the
// order in which they were made: all, or its own. Who did not say who they are see
// none.
func (s *Service) visible(c *Caller) ([]*Session, ua.StatusCode) {
	switch {
	case c.Administers():
		list := s.Sessions()
		slices.SortFunc(list, func(a, b *Session) int { return cmp.Compare(a.number, b.number) })
		return list, ua.Good
	case c.session == nil || c.User.Kind == Anonymous:
		return nil, ua.BadUserAccessDenied
	}
	return []*Session{c.session}, ua.Good
}

// SessionDiagnostics returns the SessionDiagnosticsArray (Part 5, 12.11) as a
// caller may see it.
func (s *Service) SessionDiagnostics(c *Caller) ([]ua.SessionDiagnosticsDataType, ua.StatusCode) {
	sessions, code := s.visible(c)
	list := make([]ua.SessionDiagnosticsDataType, len(sessions))
	for i, session := range sessions {
		list[i] = session.Diagnostics()
	}
	return list, code
}

// SubscriptionDiagnostics returns the SubscriptionDiagnosticsArray (Part 5, 12.15)
// as a caller may see it. Subscriptions without a session are there for those who
// see all.
func (s *Service) SubscriptionDiagnostics(c *Caller) ([]ua.SubscriptionDiagnosticsDataType, ua.StatusCode) {
	var subs []*publishloop.Subscription
	if c.Administers() {
		subs = s.config.Subscriptions.Subscriptions()
	} else {
		sessions, code := s.visible(c)
		if code != ua.Good {
			return nil, code
		}
		subs = sessions[0].queue.List()
	}
	list := make([]ua.SubscriptionDiagnosticsDataType, len(subs))
	for i, sub := range subs {
		list[i] = sub.Diagnostics()
	}
	return list, ua.Good
}

// SecurityDiagnostics returns the SessionSecurityDiagnosticsArray (Part 5, 12.12),
// which security administrators may see. The history of a session's users is not
// kept: it holds the one of now.
func (s *Service) SecurityDiagnostics(c *Caller) ([]ua.SessionSecurityDiagnosticsDataType, ua.StatusCode) {
	if !c.SecurityAdministers() {
		return nil, ua.BadUserAccessDenied
	}
	sessions, code := s.visible(c)
	list := make([]ua.SessionSecurityDiagnosticsDataType, len(sessions))
	for i, session := range sessions {
		list[i] = session.security()
	}
	return list, code
}

func (s *Session) security() ua.SessionSecurityDiagnosticsDataType {
	d := ua.SessionSecurityDiagnosticsDataType{
		SessionID: s.id, Encoding: "UA Binary", TransportProtocol: "opc.tcp",
		SecurityMode: s.mode, SecurityPolicyURI: s.policy.URI,
	}
	if s.certificate != nil {
		d.ClientCertificate = s.certificate.DER
	}
	if bound := s.bound.Load(); bound != nil && bound.user != nil {
		d.ClientUserIDOfSession = bound.user.Name
		d.AuthenticationMechanism = bound.user.Kind.String()
		d.ClientUserIDHistory = []string{bound.user.Name}
	}
	return d
}

// Diagnostics returns what the standard counts of a session (Part 5, 12.11).
func (s *Session) Diagnostics() ua.SessionDiagnosticsDataType {
	failed, words := s.counts.failures(), s.words.Value()
	d := ua.SessionDiagnosticsDataType{
		SessionID: s.id, SessionName: s.name, ClientDescription: words.description(), ServerURI: words.serverURI,
		EndpointURL:                   words.endpointURL,
		ActualSessionTimeout:          float64(s.timeout) / float64(time.Millisecond),
		MaxResponseMessageSize:        s.maxResponse,
		ClientConnectionTime:          ua.DateTimeOf(s.created),
		ClientLastContactTime:         ua.DateTimeOf(s.service.start.Add(time.Duration(s.lastSeen.Load()))),
		CurrentSubscriptionsCount:     uint32(s.queue.Subscriptions()),
		CurrentPublishRequestsInQueue: uint32(s.queue.Len()),
		UnauthorizedRequestCount:      failed.unauthorized.Load(),
	}
	for _, sub := range s.queue.List() {
		d.CurrentMonitoredItemsCount += uint32(sub.MonitoredItems())
	}
	if bound := s.bound.Load(); bound != nil {
		d.LocaleIDs = bound.locales
	}
	for i := range s.counts.total {
		d.TotalRequestCount.TotalCount += s.counts.total[i].Load()
		d.TotalRequestCount.ErrorCount += failed.services[i].Load()
	}
	for _, e := range services {
		if place := counterOf(&d, e.name); place != nil {
			place.TotalCount = s.counts.total[e.index].Load()
			place.ErrorCount = failed.services[e.index].Load()
		}
	}
	return d
}

// counterOf returns the place of a service's counter, nil for the services that
// the standard does not count.
func counterOf(d *ua.SessionDiagnosticsDataType, service string) *ua.ServiceCounterDataType {
	switch service {
	case "Read":
		return &d.ReadCount
	case "Write":
		return &d.WriteCount
	case "Call":
		return &d.CallCount
	case "CreateMonitoredItems":
		return &d.CreateMonitoredItemsCount
	case "ModifyMonitoredItems":
		return &d.ModifyMonitoredItemsCount
	case "SetMonitoringMode":
		return &d.SetMonitoringModeCount
	case "SetTriggering":
		return &d.SetTriggeringCount
	case "DeleteMonitoredItems":
		return &d.DeleteMonitoredItemsCount
	case "CreateSubscription":
		return &d.CreateSubscriptionCount
	case "ModifySubscription":
		return &d.ModifySubscriptionCount
	case "SetPublishingMode":
		return &d.SetPublishingModeCount
	case "Publish":
		return &d.PublishCount
	case "Republish":
		return &d.RepublishCount
	case "TransferSubscriptions":
		return &d.TransferSubscriptionsCount
	case "DeleteSubscriptions":
		return &d.DeleteSubscriptionsCount
	case "Browse":
		return &d.BrowseCount
	case "BrowseNext":
		return &d.BrowseNextCount
	case "TranslateBrowsePathsToNodeIds":
		return &d.TranslateBrowsePathsToNodeIDsCount
	case "RegisterNodes":
		return &d.RegisterNodesCount
	case "UnregisterNodes":
		return &d.UnregisterNodesCount
	}
	return nil
}
