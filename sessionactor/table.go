package sessionactor

import (
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// entry is one service of the service table.
type entry struct {
	name    string
	session bool // needs an activated session on this channel
	handle  func(x *exchange)
	index   int // of the counters; 0 stands for requests of no known service
	request uint32
}

var unknownEntry = entry{name: "Unknown"}

// services is the table of what is served, in the order of Part 4. A request
// that is not in it is answered with BadServiceUnsupported.
var services = []*entry{
	{name: "FindServers", request: id.FindServersRequest_Encoding_DefaultBinary, handle: findServers},
	{name: "GetEndpoints", request: id.GetEndpointsRequest_Encoding_DefaultBinary, handle: getEndpoints},
	{name: "CreateSession", request: id.CreateSessionRequest_Encoding_DefaultBinary, handle: createSession},
	{name: "ActivateSession", request: id.ActivateSessionRequest_Encoding_DefaultBinary, handle: activateSession},
	{name: "CloseSession", request: id.CloseSessionRequest_Encoding_DefaultBinary, handle: closeSession},
	{name: "Cancel", request: id.CancelRequest_Encoding_DefaultBinary, session: true, handle: cancelRequests},

	{name: "Browse", request: id.BrowseRequest_Encoding_DefaultBinary, session: true, handle: browse},
	{name: "BrowseNext", request: id.BrowseNextRequest_Encoding_DefaultBinary, session: true, handle: browseNext},
	{name: "TranslateBrowsePathsToNodeIds", request: id.TranslateBrowsePathsToNodeIdsRequest_Encoding_DefaultBinary, session: true, handle: translateBrowsePaths},
	{name: "RegisterNodes", request: id.RegisterNodesRequest_Encoding_DefaultBinary, session: true, handle: registerNodes},
	{name: "UnregisterNodes", request: id.UnregisterNodesRequest_Encoding_DefaultBinary, session: true, handle: unregisterNodes},

	{name: "Read", request: id.ReadRequest_Encoding_DefaultBinary, session: true, handle: read},
	{name: "Write", request: id.WriteRequest_Encoding_DefaultBinary, session: true, handle: write},
	{name: "Call", request: id.CallRequest_Encoding_DefaultBinary, session: true, handle: call},

	{name: "CreateMonitoredItems", request: id.CreateMonitoredItemsRequest_Encoding_DefaultBinary, session: true, handle: createMonitoredItems},
	{name: "ModifyMonitoredItems", request: id.ModifyMonitoredItemsRequest_Encoding_DefaultBinary, session: true, handle: modifyMonitoredItems},
	{name: "SetMonitoringMode", request: id.SetMonitoringModeRequest_Encoding_DefaultBinary, session: true, handle: setMonitoringMode},
	{name: "SetTriggering", request: id.SetTriggeringRequest_Encoding_DefaultBinary, session: true, handle: setTriggering},
	{name: "DeleteMonitoredItems", request: id.DeleteMonitoredItemsRequest_Encoding_DefaultBinary, session: true, handle: deleteMonitoredItems},

	{name: "CreateSubscription", request: id.CreateSubscriptionRequest_Encoding_DefaultBinary, session: true, handle: createSubscription},
	{name: "ModifySubscription", request: id.ModifySubscriptionRequest_Encoding_DefaultBinary, session: true, handle: modifySubscription},
	{name: "SetPublishingMode", request: id.SetPublishingModeRequest_Encoding_DefaultBinary, session: true, handle: setPublishingMode},
	{name: "Publish", request: id.PublishRequest_Encoding_DefaultBinary, session: true, handle: publish},
	{name: "Republish", request: id.RepublishRequest_Encoding_DefaultBinary, session: true, handle: republish},
	{name: "TransferSubscriptions", request: id.TransferSubscriptionsRequest_Encoding_DefaultBinary, session: true, handle: transferSubscriptions},
	{name: "DeleteSubscriptions", request: id.DeleteSubscriptionsRequest_Encoding_DefaultBinary, session: true, handle: deleteSubscriptions},
}

// publishIndex is the place of Publish among the counters.
var publishIndex int

// byRequest finds an entry by the numeric binary encoding id of its request.
// All ids are small, so a slice does.
var byRequest []*entry

func init() {
	if len(services) != maxServices-1 {
		panic("maxServices is not the number of services and one")
	}
	for i, e := range services {
		e.index = i + 1
		if e.name == "Publish" {
			publishIndex = e.index
		}
		for int(e.request) >= len(byRequest) {
			byRequest = append(byRequest, nil)
		}
		byRequest[e.request] = e
	}
}

func entryOf(typeID ua.NodeID) *entry {
	if typeID.Namespace() != 0 || typeID.Type() != ua.IDTypeNumeric {
		return nil
	}
	if n := typeID.Numeric(); int64(n) < int64(len(byRequest)) {
		return byRequest[n]
	}
	return nil
}
