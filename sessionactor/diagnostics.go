package sessionactor

import (
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Diagnostics returns what the standard counts of a session (Part 5, 12.11). The
// number of monitored items is part of the subscriptions' own diagnostics.
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
