package uahive

import (
	"context"
	"math"
	"time"

	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// bindServerObject connects the standard's Server object (Part 5, 6.3.1 and
// 8.3.2) with what the server really is and does.
func (s *Server) bindServerObject() {
	s.bindStatus()
	s.bindCapabilities()
	s.bindDiagnostics()
	s.sessions.BindServerMethods()
	s.fixed(id.Server_ServerArray, []string{s.config.ApplicationURI})
	s.live(id.Server_ServiceLevel, func() any { return s.serviceLevel() })
	s.fixed(id.Server_Auditing, s.auditor.trail != nil)
	s.fixed(id.Server_ServerRedundancy_RedundancySupport, ua.RedundancySupportNone)
	s.markUnserved()
}

// markUnserved gives the variables of the Server object that nothing stands
// behind (of PubSub, of configuration, of diagnostics by session) a status that
// says so. Namespace 0 is complete, and a Good null would claim that the server
// knows the value.
func (s *Server) markUnserved() {
	hierarchical, _ := s.space.ReferenceTypes(ua.NumericID(0, id.HierarchicalReferences), true)
	seen := map[*addrspace.Node]bool{}
	open := []*addrspace.Node{s.space.Node(ua.NumericID(0, id.Server))}
	for len(open) > 0 {
		node := open[len(open)-1]
		open = open[:len(open)-1]
		refs := node.References()
		for pos := 0; ; {
			ref, next, ok := refs.Next(pos, ua.BrowseDirectionForward, hierarchical)
			if !ok {
				break
			}
			pos = next
			if seen[ref.Target] {
				continue
			}
			seen[ref.Target] = true
			open = append(open, ref.Target)
			if v := ref.Target.Variable(); v != nil && v.Source() == nil && v.Load().Value.IsNull() {
				v.Store(ua.DataValue{Status: ua.BadNotSupported})
			}
		}
	}
}

// fixed stores a value that does not change while the server runs.
func (s *Server) fixed(node uint32, value any) {
	v, err := ua.ValueOf(value)
	if err != nil {
		panic(err) // a value of ours that is no OPC UA value
	}
	if n := s.space.Node(ua.NumericID(0, node)); n != nil {
		n.Variable().Store(ua.DataValue{Value: v})
	}
}

// live connects a variable with a function that only touches memory.
func (s *Server) live(node uint32, read func() any) {
	n := s.space.Node(ua.NumericID(0, node))
	if n == nil {
		return
	}
	n.Variable().SetSource(&addrspace.Source{Inline: true, Read: func(context.Context) (ua.DataValue, error) {
		v, err := ua.ValueOf(read())
		return ua.DataValue{Value: v}, err
	}})
}

// status is the ServerStatusDataType of this moment (Part 5, 12.10).
func (s *Server) status() *ua.ServerStatusDataType {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	status := &ua.ServerStatusDataType{
		StartTime: ua.DateTimeOf(s.start), CurrentTime: ua.DateTimeOf(now), State: s.state, BuildInfo: s.buildInfo(),
	}
	if s.state == ua.ServerStateShutdown {
		status.SecondsTillShutdown = uint32(math.Ceil(max(0, s.shutdown.Sub(now).Seconds())))
		status.ShutdownReason = ua.LocalizedText{Locale: "en", Text: "The server is shutting down."}
	}
	return status
}

func (s *Server) buildInfo() ua.BuildInfo {
	b := s.config.Build
	return ua.BuildInfo{
		ProductURI: s.config.ProductURI, ManufacturerName: b.ManufacturerName, ProductName: b.ProductName,
		SoftwareVersion: b.SoftwareVersion, BuildNumber: b.BuildNumber, BuildDate: ua.DateTimeOf(b.BuildDate),
	}
}

func (s *Server) bindStatus() {
	s.live(id.Server_ServerStatus, func() any { return s.status() })
	s.live(id.Server_ServerStatus_CurrentTime, func() any { return ua.DateTimeOf(time.Now()) })
	s.live(id.Server_ServerStatus_State, func() any { return s.status().State })
	s.live(id.Server_ServerStatus_SecondsTillShutdown, func() any { return s.status().SecondsTillShutdown })
	s.live(id.Server_ServerStatus_ShutdownReason, func() any { return s.status().ShutdownReason })
	s.fixed(id.Server_ServerStatus_StartTime, ua.DateTimeOf(s.start))
	build := s.buildInfo()
	s.fixed(id.Server_ServerStatus_BuildInfo, &build)
	s.fixed(id.Server_ServerStatus_BuildInfo_ProductName, build.ProductName)
	s.fixed(id.Server_ServerStatus_BuildInfo_ProductUri, build.ProductURI)
	s.fixed(id.Server_ServerStatus_BuildInfo_ManufacturerName, build.ManufacturerName)
	s.fixed(id.Server_ServerStatus_BuildInfo_SoftwareVersion, build.SoftwareVersion)
	s.fixed(id.Server_ServerStatus_BuildInfo_BuildNumber, build.BuildNumber)
	s.fixed(id.Server_ServerStatus_BuildInfo_BuildDate, build.BuildDate)
}

// standardProfiles are the profiles that the server claims (Part 7). A profile is
// claimed when each of its conformance units is proven, which none is yet.
var standardProfiles = []string{}

// bindCapabilities publishes the limits in force (Part 5, 6.3.2 and 6.3.11).
func (s *Server) bindCapabilities() {
	services, subscriptions := s.sessions.Limits(), s.subs.Limits()
	s.fixed(id.Server_ServerCapabilities_ServerProfileArray, standardProfiles)
	s.fixed(id.Server_ServerCapabilities_LocaleIdArray, []string{"en"})
	s.fixed(id.Server_ServerCapabilities_MinSupportedSampleRate, 0.0)
	s.fixed(id.Server_ServerCapabilities_MaxBrowseContinuationPoints, limit16(services.BrowseContinuationPoints))
	s.fixed(id.Server_ServerCapabilities_MaxQueryContinuationPoints, uint16(0))
	s.fixed(id.Server_ServerCapabilities_MaxHistoryContinuationPoints, uint16(0))
	for node, limit := range map[uint32]int{
		id.Server_ServerCapabilities_MaxArrayLength:                                           services.ArrayLength,
		id.Server_ServerCapabilities_MaxStringLength:                                          services.StringLength,
		id.Server_ServerCapabilities_MaxByteStringLength:                                      services.ByteStringLength,
		id.Server_ServerCapabilities_MaxSessions:                                              services.Sessions,
		id.Server_ServerCapabilities_MaxSubscriptions:                                         subscriptions.Subscriptions,
		id.Server_ServerCapabilities_MaxSubscriptionsPerSession:                               subscriptions.SubscriptionsPerSession,
		id.Server_ServerCapabilities_MaxMonitoredItems:                                        subscriptions.MonitoredItems,
		id.Server_ServerCapabilities_MaxMonitoredItemsPerSubscription:                         subscriptions.MonitoredItemsPerSubscription,
		id.Server_ServerCapabilities_MaxMonitoredItemsQueueSize:                               subscriptions.QueueSize,
		id.Server_ServerCapabilities_MaxSelectClauseParameters:                                subscriptions.EventFilter.SelectClauses,
		id.Server_ServerCapabilities_MaxWhereClauseParameters:                                 subscriptions.EventFilter.WhereOperands,
		id.Server_ServerCapabilities_OperationLimits_MaxNodesPerRead:                          services.NodesPerRead,
		id.Server_ServerCapabilities_OperationLimits_MaxNodesPerWrite:                         services.NodesPerWrite,
		id.Server_ServerCapabilities_OperationLimits_MaxNodesPerMethodCall:                    services.MethodsPerCall,
		id.Server_ServerCapabilities_OperationLimits_MaxNodesPerBrowse:                        services.NodesPerBrowse,
		id.Server_ServerCapabilities_OperationLimits_MaxNodesPerRegisterNodes:                 services.NodesPerRegister,
		id.Server_ServerCapabilities_OperationLimits_MaxNodesPerTranslateBrowsePathsToNodeIds: services.NodesPerTranslate,
		id.Server_ServerCapabilities_OperationLimits_MaxMonitoredItemsPerCall:                 services.ItemsPerCall,
	} {
		s.fixed(node, uint32(limit))
	}
}

func limit16(n int) uint16 { return uint16(min(n, math.MaxUint16)) }
