package conformance

import (
	"fmt"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// crawl browses everything that can be reached from the root, in pages.
func crawl(t *testing.T, s *rawpeer.Session) map[ua.NodeID][]ua.ReferenceDescription {
	t.Helper()
	found := map[ua.NodeID][]ua.ReferenceDescription{ua.NumericID(0, id.RootFolder): nil}
	queue := []ua.NodeID{ua.NumericID(0, id.RootFolder)}
	for len(queue) > 0 {
		batch := queue[:min(len(queue), 100)]
		queue = queue[len(batch):]
		req := &ua.BrowseRequest{RequestedMaxReferencesPerNode: 500}
		for _, node := range batch {
			req.NodesToBrowse = append(req.NodesToBrowse, ua.BrowseDescription{
				NodeID: node, BrowseDirection: ua.BrowseDirectionBoth, ResultMask: uint32(ua.BrowseResultMaskAll),
			})
		}
		for i, r := range rawpeer.Do[*ua.BrowseResponse](s, req).Results {
			for {
				if r.StatusCode != ua.Good {
					t.Fatalf("browsing %v: %v", batch[i], r.StatusCode)
				}
				found[batch[i]] = append(found[batch[i]], r.References...)
				if len(r.ContinuationPoint) == 0 {
					break
				}
				r = rawpeer.Do[*ua.BrowseNextResponse](s, &ua.BrowseNextRequest{ContinuationPoints: [][]byte{r.ContinuationPoint}}).Results[0]
			}
			for _, ref := range found[batch[i]] {
				if _, known := found[ref.NodeID.NodeID]; !known {
					found[ref.NodeID.NodeID] = nil
					queue = append(queue, ref.NodeID.NodeID)
				}
			}
		}
	}
	return found
}

// What a client can browse to is whole: every reference is there in both
// directions, every instance has one type definition, and what a reference says
// of its target is what the target says of itself (Part 3, 4 and 5.5 to 5.8).
func TestTheAddressSpaceIsWhole(t *testing.T) {
	type link struct {
		from, to, kind ua.NodeID
	}
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		found := crawl(t, s)
		if len(found) < 3000 || len(found) > w.Space().Len() {
			t.Errorf("%d nodes can be reached of %d", len(found), w.Space().Len())
		}
		forward, backward := make(map[link]int), make(map[link]int)
		classes := make(map[ua.NodeID]ua.NodeClass)
		for node, refs := range found {
			definitions := 0
			for _, ref := range refs {
				other := ref.NodeID.NodeID
				if ref.IsForward {
					forward[link{node, other, ref.ReferenceTypeID}]++
				} else {
					backward[link{other, node, ref.ReferenceTypeID}]++
				}
				if ref.IsForward && ref.ReferenceTypeID == ua.NumericID(0, id.HasTypeDefinition) {
					definitions++
				}
				classes[other] = ref.NodeClass
				isInstance := ref.NodeClass == ua.NodeClassObject || ref.NodeClass == ua.NodeClassVariable
				if isInstance == ref.TypeDefinition.NodeID.IsNull() {
					t.Errorf("%v %v with type definition %v", ref.NodeClass, other, ref.TypeDefinition.NodeID)
				}
				if ref.BrowseName.Name == "" || ref.DisplayName.Text == "" {
					t.Errorf("%v has the name %v and is shown as %v", other, ref.BrowseName, ref.DisplayName)
				}
			}
			class := w.Space().Node(node).Class()
			if want := class == ua.NodeClassObject || class == ua.NodeClassVariable; want != (definitions == 1) {
				t.Errorf("%v %v has %d type definitions", class, node, definitions)
			}
		}
		for l, n := range forward {
			if n != 1 || backward[l] != 1 {
				t.Errorf("%v -> %v (%v): %d times forward, %d backward", l.from, l.to, l.kind, n, backward[l])
			}
		}
		for l := range backward {
			if forward[l] != 1 {
				t.Errorf("%v -> %v (%v): only backward", l.from, l.to, l.kind)
			}
		}
		readAttributes(t, s, found, classes)
	})
}

// required are the attributes that every node of a class has (Part 3, 5).
var required = map[ua.NodeClass][]ua.AttributeID{
	ua.NodeClassObject: {ua.AttributeIDEventNotifier},
	ua.NodeClassVariable: {
		ua.AttributeIDValue, ua.AttributeIDDataType, ua.AttributeIDValueRank, ua.AttributeIDAccessLevel,
		ua.AttributeIDUserAccessLevel, ua.AttributeIDHistorizing,
	},
	ua.NodeClassMethod:        {ua.AttributeIDExecutable, ua.AttributeIDUserExecutable},
	ua.NodeClassObjectType:    {ua.AttributeIDIsAbstract},
	ua.NodeClassVariableType:  {ua.AttributeIDIsAbstract, ua.AttributeIDDataType, ua.AttributeIDValueRank},
	ua.NodeClassReferenceType: {ua.AttributeIDIsAbstract, ua.AttributeIDSymmetric},
	ua.NodeClassDataType:      {ua.AttributeIDIsAbstract},
	ua.NodeClassView:          {ua.AttributeIDContainsNoLoops, ua.AttributeIDEventNotifier},
}

// ofOthers are the variables that tell about other clients, and nothing to those
// who did not say who they are (Part 5, 6.3.3 to 6.3.5).
var ofOthers = map[ua.NodeID]bool{
	ua.NumericID(0, id.Server_ServerDiagnostics_SubscriptionDiagnosticsArray):                               true,
	ua.NumericID(0, id.Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionDiagnosticsArray):         true,
	ua.NumericID(0, id.Server_ServerDiagnostics_SessionsDiagnosticsSummary_SessionSecurityDiagnosticsArray): true,
}

// readAttributes reads all attributes of all nodes: the required ones are there,
// every one has the type that Part 3 gives it, and no other is there.
func readAttributes(t *testing.T, s *rawpeer.Session, found map[ua.NodeID][]ua.ReferenceDescription, classes map[ua.NodeID]ua.NodeClass) {
	t.Helper()
	types := map[ua.AttributeID]ua.TypeID{
		ua.AttributeIDNodeID: ua.TypeNodeID, ua.AttributeIDNodeClass: ua.TypeInt32, ua.AttributeIDBrowseName: ua.TypeQualifiedName,
		ua.AttributeIDDisplayName: ua.TypeLocalizedText, ua.AttributeIDDescription: ua.TypeLocalizedText,
		ua.AttributeIDWriteMask: ua.TypeUInt32, ua.AttributeIDUserWriteMask: ua.TypeUInt32, ua.AttributeIDIsAbstract: ua.TypeBoolean,
		ua.AttributeIDSymmetric: ua.TypeBoolean, ua.AttributeIDInverseName: ua.TypeLocalizedText, ua.AttributeIDContainsNoLoops: ua.TypeBoolean,
		ua.AttributeIDEventNotifier: ua.TypeByte, ua.AttributeIDDataType: ua.TypeNodeID, ua.AttributeIDValueRank: ua.TypeInt32,
		ua.AttributeIDArrayDimensions: ua.TypeUInt32, ua.AttributeIDAccessLevel: ua.TypeByte, ua.AttributeIDUserAccessLevel: ua.TypeByte,
		ua.AttributeIDMinimumSamplingInterval: ua.TypeDouble, ua.AttributeIDHistorizing: ua.TypeBoolean, ua.AttributeIDExecutable: ua.TypeBoolean,
		ua.AttributeIDUserExecutable: ua.TypeBoolean, ua.AttributeIDDataTypeDefinition: ua.TypeExtensionObject,
		ua.AttributeIDRolePermissions: ua.TypeExtensionObject, ua.AttributeIDUserRolePermissions: ua.TypeExtensionObject,
		ua.AttributeIDAccessRestrictions: ua.TypeUInt16, ua.AttributeIDAccessLevelEx: ua.TypeUInt32,
	}
	const attributes = 27
	var nodes []ua.NodeID
	for node := range found {
		nodes = append(nodes, node)
	}
	for len(nodes) > 0 {
		batch := nodes[:min(len(nodes), 200)]
		nodes = nodes[len(batch):]
		req := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnNeither}
		for _, node := range batch {
			for a := ua.AttributeID(1); a <= attributes; a++ {
				req.NodesToRead = append(req.NodesToRead, ua.ReadValueID{NodeID: node, AttributeID: a})
			}
		}
		results := rawpeer.Do[*ua.ReadResponse](s, req).Results
		for i, node := range batch {
			of := results[i*attributes : (i+1)*attributes]
			for a := ua.AttributeID(1); a <= attributes; a++ {
				dv := of[a-1]
				what := fmt.Sprintf("%v %v, attribute %d", classes[node], node, a)
				switch want, typed := types[a]; {
				case dv.Status == ua.BadAttributeIDInvalid:
				case a == ua.AttributeIDRolePermissions:
					// Of the standard's nodes only administrators may read it.
					if dv.Status != ua.BadUserAccessDenied && dv.Status != ua.BadSecurityModeInsufficient {
						t.Errorf("%s: %v for an anonymous user", what, dv.Status)
					}
				case a == ua.AttributeIDValue && dv.Status == ua.BadSecurityModeInsufficient:
					restrictions, _ := ua.As[uint16](of[ua.AttributeIDAccessRestrictions-1].Value)
					if ua.AccessRestrictionType(restrictions)&ua.AccessRestrictionTypeEncryptionRequired == 0 {
						t.Errorf("%s: %v without a restriction", what, dv.Status)
					}
				case a == ua.AttributeIDValue && ofOthers[node]:
					if dv.Status != ua.BadUserAccessDenied {
						t.Errorf("%s: %v for an anonymous user", what, dv.Status)
					}
				case a == ua.AttributeIDValue:
					checkValue(t, what, of)
				case dv.Status != ua.Good:
					t.Errorf("%s: %v", what, dv.Status)
				case typed && dv.Value.Type() != want:
					t.Errorf("%s is of type %v", what, dv.Value.Type())
				}
			}
			for _, a := range append([]ua.AttributeID{1, 2, 3, 4}, required[classes[node]]...) {
				if of[a-1].Status == ua.BadAttributeIDInvalid {
					t.Errorf("%v %v has no attribute %d", classes[node], node, a)
				}
			}
		}
	}
}

// checkValue compares a value with the data type and the rank beside it. A value
// may be missing where its type has a null; BadNotSupported marks what the standard's own
// nodes have and this server does not.
func checkValue(t *testing.T, what string, of []ua.DataValue) {
	t.Helper()
	value := of[ua.AttributeIDValue-1]
	if value.Status != ua.Good {
		if value.Status != ua.BadNotSupported {
			t.Errorf("%s: %v", what, value.Status)
		}
		return
	}
	if value.Value.IsNull() {
		return
	}
	rank, _ := ua.As[int32](of[ua.AttributeIDValueRank-1].Value)
	if got := value.Value.Rank(); rank >= 1 && got != int(rank) || rank == -1 && got != 0 {
		t.Errorf("%s has rank %d, declared %d", what, got, rank)
	}
	dataType, _ := ua.As[ua.NodeID](of[ua.AttributeIDDataType-1].Value)
	if n := dataType.Numeric(); dataType.Namespace() == 0 && n >= 1 && n <= 21 && value.Value.Type() != ua.TypeID(n) {
		t.Errorf("%s is of type %v, declared %v", what, value.Value.Type(), dataType)
	}
}

// The Server object says what the server is and can (Part 5, 6.3).
func TestServerObject(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		s := w.session()
		for node, want := range map[uint32]string{
			id.Server_ServerArray:                        fmt.Sprint([]string{applicationURI}),
			id.Server_NamespaceArray:                     fmt.Sprint([]string{"http://opcfoundation.org/UA/", applicationURI, "urn:test:nodes"}),
			id.Server_ServiceLevel:                       "255",
			id.Server_ServerStatus_State:                 "0",
			id.Server_ServerStatus_SecondsTillShutdown:   "0",
			id.Server_Auditing:                           "false",
			id.Server_ServerDiagnostics_EnabledFlag:      "true",
			id.Server_ServerRedundancy_RedundancySupport: "0",
		} {
			dv := readValue(s, ua.NumericID(0, node))
			if got := fmt.Sprint(dv.Value.Any()); dv.Status != ua.Good || got != want {
				t.Errorf("i=%d: %v (%v), want %s", node, got, dv.Status, want)
			}
		}
		status, _ := ua.As[ua.ExtensionObject](readValue(s, ua.NumericID(0, id.Server_ServerStatus)).Value)
		if st, ok := status.Value.(*ua.ServerStatusDataType); !ok || st.State != ua.ServerStateRunning || st.BuildInfo.ProductURI == "" || st.CurrentTime == 0 || st.StartTime == 0 {
			t.Errorf("ServerStatus %+v", status.Value)
		}
	})
}
