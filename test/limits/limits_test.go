package limits

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// row is one limit. reach takes all that it allows, which must be Good, and one
// more, whose status it returns, with a function that gives one back. again is
// what was refused, asked another time.
type row struct {
	name   string
	limits func(l *uahive.Limits)
	reach  func(k *kit) (code ua.StatusCode, release func(), again func() ua.StatusCode)
	want   ua.StatusCode
}

// What cannot be reached under fake time is elsewhere: LaneWait in channelactor
// (TestThreat_S11_LaneRefusesAtOnce), MaxSendQueueBytes and WriteTimeout there and
// in test/attack, time-outs of stages and sessions in test/conformance, the bytes
// of queues and of messages that are kept for Republish in publishloop.
var rows = []row{
	{
		"Channels", func(l *uahive.Limits) { l.Channels.Channels = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			held := []*rawpeer.Session{k.session(), k.session(), k.session()}
			return k.bare().Refusal(), func() { k.gone(held[0]) }, func() ua.StatusCode { return opens(k) }
		}, ua.BadTcpServerTooBusy,
	},
	{
		"ChannelsPerPeer", func(l *uahive.Limits) { l.Channels.ChannelsPerPeer = 2 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			held := []*rawpeer.Session{k.session(), k.session()}
			return k.bare().Refusal(), func() { k.gone(held[0]) }, func() ua.StatusCode { return opens(k) }
		}, ua.BadTcpServerTooBusy,
	},
	{
		"MaxMessage", func(l *uahive.Limits) { l.MaxMessage = 100_000 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			good(k, s.Result(writeOf(k, 90_000)))
			s.Write(fat(s.Peer, 101_000))
			return s.Refusal(), nothing, func() ua.StatusCode { return k.session().Result(writeOf(k, 90_000)) }
		}, ua.BadTcpMessageTooLarge,
	},
	{
		"UnprovenMessage", func(l *uahive.Limits) { l.Channels.UnprovenMessage = 70_000 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			p := k.dial()
			p.Write(fat(p, 71_000))
			return p.Refusal(), nothing, func() ua.StatusCode { return k.session().Result(writeOf(k, 90_000)) }
		}, ua.BadTcpMessageTooLarge,
	},
	{
		"MaxChunks", func(l *uahive.Limits) { l.Channels.MaxChunks = 4 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			for range 5 {
				s.Write(part(s.Peer, 8))
			}
			return s.Refusal(), nothing, func() ua.StatusCode { return k.session().Result(readOf(k.variable, 1)) }
		}, ua.BadTcpMessageTooLarge,
	},
	{
		"AssemblyBytes", func(l *uahive.Limits) { l.Channels.AssemblyBytes, l.MaxMessage = 1<<20, 512<<10 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			// Three unfinished messages hold 256 KiB each, which a fourth of twice that exceeds.
			held := []*rawpeer.Session{k.session(), k.session(), k.session(), k.session()}
			for _, s := range held[:3] {
				for range 4 {
					s.Write(part(s.Peer, 60_000))
				}
			}
			for range 7 { // it may be sent away before the last
				_, _ = held[3].Conn.Write(part(held[3].Peer, 60_000))
			}
			release := func() { k.gone(held[0]); k.gone(held[1]); k.gone(held[2]) }
			return held[3].Refusal(), release, func() ua.StatusCode { return k.session().Result(writeOf(k, 100_000)) }
		}, ua.BadTcpNotEnoughResources,
	},
	{
		"Sessions", func(l *uahive.Limits) { l.Sessions = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			p := k.dial()
			held := []*rawpeer.Session{p.Session(), p.Session(), p.Session()}
			create := func() ua.StatusCode { return (&rawpeer.Session{Peer: p}).Result(p.CreateRequest()) }
			return create(), held[1].Close, create
		}, ua.BadTooManySessions,
	},
	{
		"SubscriptionsPerSession", func(l *uahive.Limits) { l.Subscriptions.SubscriptionsPerSession = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			return subscriptions(k, k.session(), k.session(), false)
		}, ua.BadTooManySubscriptions,
	},
	{
		"Subscriptions", func(l *uahive.Limits) { l.Subscriptions.Subscriptions = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			return subscriptions(k, k.session(), k.session(), true)
		}, ua.BadTooManySubscriptions,
	},
	{
		"MonitoredItemsPerSubscription", func(l *uahive.Limits) { l.Subscriptions.MonitoredItemsPerSubscription = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) { return monitored(k, false) }, ua.BadTooManyMonitoredItems,
	},
	{
		"MonitoredItems", func(l *uahive.Limits) { l.Subscriptions.MonitoredItems = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) { return monitored(k, true) }, ua.BadTooManyMonitoredItems,
	},
	{
		"PublishRequests", func(l *uahive.Limits) { l.Subscriptions.PublishRequests = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			rawpeer.Do[*ua.CreateSubscriptionResponse](s, subscription())
			var parked []uint32
			for range 4 {
				parked = append(parked, s.Start(&ua.PublishRequest{}))
			}
			// The oldest makes room for the newest (Part 4, 5.14.5.1); those between are answered in turn.
			return s.ResultOf(parked[0]), nothing, func() ua.StatusCode {
				for _, request := range append(parked[1:], s.Start(&ua.PublishRequest{}))[1:3] {
					good(k, s.ResultOf(request))
				}
				return s.ResultOf(s.Start(&ua.PublishRequest{}))
			}
		}, ua.BadTooManyPublishRequests,
	},
	{
		"Acknowledgements", func(l *uahive.Limits) { l.Subscriptions.Acknowledgements = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			rawpeer.Do[*ua.CreateSubscriptionResponse](s, subscription())
			publish := func(n int) ua.StatusCode {
				return s.Result(&ua.PublishRequest{SubscriptionAcknowledgements: make([]ua.SubscriptionAcknowledgement, n)})
			}
			good(k, publish(3))
			return publish(4), nothing, func() ua.StatusCode { return publish(3) }
		}, ua.BadTooManyOperations,
	},
	{
		"WaitingBytes", func(l *uahive.Limits) { l.Services.WaitingBytes, l.MaxMessage = 1, 10_000 }, // four of the largest requests
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			sessions := []*rawpeer.Session{k.session(), k.session()}
			call := callOf(k.slow)
			call.MethodsToCall[0].InputArguments = []ua.Variant{ua.VariantOf(strings.Repeat("x", 9000))}
			call.MethodsToCall = append(callOf(k.slow).MethodsToCall, call.MethodsToCall...) // the second is refused for its argument
			for range 4 {
				sessions[0].Start(call)
			}
			synctest.Wait()
			return sessions[1].Result(call), func() { k.freeAll(4) }, func() ua.StatusCode {
				k.free <- struct{}{}
				return sessions[1].Result(call)
			}
		}, ua.BadServerTooBusy,
	},
	{
		"BrowseContinuationPoints", func(l *uahive.Limits) { l.Services.BrowseContinuationPoints = 3 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			var points [][]byte
			browse := func() ua.StatusCode {
				r := rawpeer.Do[*ua.BrowseResponse](s, &ua.BrowseRequest{
					RequestedMaxReferencesPerNode: 1,
					NodesToBrowse:                 []ua.BrowseDescription{{NodeID: ua.NumericID(0, id.Server), ResultMask: 63}},
				}).Results[0]
				if r.StatusCode == ua.Good {
					points = append(points, r.ContinuationPoint)
				}
				return r.StatusCode
			}
			for range 3 {
				good(k, browse())
			}
			return browse(), func() {
				s.Result(&ua.BrowseNextRequest{ReleaseContinuationPoints: true, ContinuationPoints: points[:1]})
			}, browse
		}, ua.BadNoContinuationPoints,
	},
	{
		"RegisteredNodes", func(l *uahive.Limits) { l.Services.RegisteredNodes = 10 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			nodes := func(n int) []ua.NodeID { return slices.Repeat([]ua.NodeID{objects}, n) }
			good(k, s.Result(&ua.RegisterNodesRequest{NodesToRegister: nodes(10)}))
			one := func() ua.StatusCode { return s.Result(&ua.RegisterNodesRequest{NodesToRegister: nodes(1)}) }
			return one(), func() { s.Result(&ua.UnregisterNodesRequest{NodesToUnregister: nodes(1)}) }, one
		}, ua.BadTooManyOperations,
	},
	{
		"NodesPerRead", func(l *uahive.Limits) { l.Services.NodesPerRead = 10 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			good(k, s.Result(readOf(k.variable, 10)))
			return s.Result(readOf(k.variable, 11)), nothing, func() ua.StatusCode { return s.Result(readOf(k.variable, 10)) }
		}, ua.BadTooManyOperations,
	},
	{
		"ArrayLength", func(l *uahive.Limits) { l.ArrayLength = 100 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			good(k, s.Result(readOf(k.variable, 100)))
			return s.Result(readOf(k.variable, 101)), nothing, func() ua.StatusCode { return s.Result(readOf(k.variable, 100)) }
		}, ua.BadEncodingLimitsExceeded,
	},
	{
		"StringLength", func(l *uahive.Limits) { l.Services.StringLength = 5000 },
		func(k *kit) (ua.StatusCode, func(), func() ua.StatusCode) {
			s := k.session()
			good(k, s.Result(writeOf(k, 5000)))
			return s.Result(writeOf(k, 5001)), nothing, func() ua.StatusCode { return s.Result(writeOf(k, 5000)) }
		}, ua.BadEncodingLimitsExceeded,
	},
}

// Every limit has its StatusCode, and does not outlast its reason.
func TestLimitsAreReachedAndRecover(t *testing.T) {
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var limits uahive.Limits
			r.limits(&limits)
			inTime(t, limits, func(k *kit) {
				code, release, again := r.reach(k)
				if code != r.want {
					t.Errorf("at the limit: %v, want %v", code, r.want)
				}
				release()
				synctest.Wait()
				if code := again(); code != ua.Good {
					t.Errorf("with room again: %v", code)
				}
			})
		})
	}
}

// Requests beyond InFlight are not refused: the socket is not read meanwhile, and
// all are answered.
func TestInFlightHoldsTheReaderBack(t *testing.T) {
	var limits uahive.Limits
	limits.Channels.InFlight = 5
	inTime(t, limits, func(k *kit) {
		s, other := k.session(), k.session()
		var all bytes.Buffer
		var requests []uint32
		for range 50 {
			requests = append(requests, s.NextID())
			all.Write(s.Seal(uasc.TypeMessage, requests[len(requests)-1], s.Prepare(s.Token, callOf(k.slow))))
		}
		go s.Write(all.Bytes())
		synctest.Wait()
		if n := len(k.running); n != 5 {
			t.Errorf("%d calls run", n)
		}
		good(k, other.Result(readOf(k.variable, 1)))
		k.freeAll(50)
		for _, request := range requests {
			good(k, s.ResultOf(request))
		}
	})
}

func nothing() {}

// good ends the test unless what is allowed was.
func good(k *kit, code ua.StatusCode) {
	k.t.Helper()
	if code != ua.Good {
		k.t.Fatalf("below the limit: %v", code)
	}
}

func (k *kit) freeAll(n int) {
	for range n {
		k.free <- struct{}{}
	}
}

// gone breaks a connection off.
func (k *kit) gone(s *rawpeer.Session) {
	s.Conn.Close()
	synctest.Wait()
}

// opens is Good when a new session can be had.
func opens(k *kit) ua.StatusCode { return k.session().Result(readOf(k.variable, 1)) }

// writeOf writes a text of so many bytes.
func writeOf(k *kit, size int) *ua.WriteRequest {
	return &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
		NodeID: k.variable, AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(strings.Repeat("x", size))},
	}}}
}

// fat is a whole message of so many bytes that nobody decodes.
func fat(p *rawpeer.Peer, size int) []byte {
	p.Layout, p.Limits.MaxSendMessage = nil, 0
	limits := p.Limits
	limits.MaxMessage = 0
	layout, err := uasc.NewLayout(p.Config.Policy, p.Config.Mode, limits, p.Channel, false)
	if err != nil {
		panic(err)
	}
	p.Layout = layout
	return p.Seal(uasc.TypeMessage, p.NextID(), make([]byte, size))
}

// part is an intermediate chunk of a message that has no end.
func part(p *rawpeer.Peer, size int) []byte {
	chunk := p.Seal(uasc.TypeMessage, 77, make([]byte, size))
	chunk[3] = 'C'
	return chunk
}

func subscriptions(k *kit, s, other *rawpeer.Session, shared bool) (ua.StatusCode, func(), func() ua.StatusCode) {
	var made []uint32
	for range 3 {
		made = append(made, rawpeer.Do[*ua.CreateSubscriptionResponse](s, subscription()).SubscriptionID)
	}
	if !shared {
		good(k, other.Result(subscription()))
		other = s
	}
	one := func() ua.StatusCode { return other.Result(subscription()) }
	return one(), func() { s.Result(&ua.DeleteSubscriptionsRequest{SubscriptionIDs: made[1:2]}) }, one
}

func monitored(k *kit, shared bool) (ua.StatusCode, func(), func() ua.StatusCode) {
	s := k.session()
	first := rawpeer.Do[*ua.CreateSubscriptionResponse](s, subscription()).SubscriptionID
	second := rawpeer.Do[*ua.CreateSubscriptionResponse](s, subscription()).SubscriptionID
	var ids []uint32
	create := func(sub uint32) ua.StatusCode {
		r := rawpeer.Do[*ua.CreateMonitoredItemsResponse](s, &ua.CreateMonitoredItemsRequest{
			SubscriptionID: sub, TimestampsToReturn: ua.TimestampsToReturnBoth,
			ItemsToCreate: []ua.MonitoredItemCreateRequest{{
				ItemToMonitor:  ua.ReadValueID{NodeID: k.variable, AttributeID: ua.AttributeIDValue},
				MonitoringMode: ua.MonitoringModeReporting,
			}},
		}).Results[0]
		if r.StatusCode == ua.Good {
			ids = append(ids, r.MonitoredItemID)
		}
		return r.StatusCode
	}
	for range 3 {
		good(k, create(first))
	}
	if !shared {
		good(k, create(second))
		second = first
	}
	return create(second), func() {
		resp := rawpeer.Do[*ua.DeleteMonitoredItemsResponse](s, &ua.DeleteMonitoredItemsRequest{SubscriptionID: first, MonitoredItemIDs: ids[:1]})
		if fmt.Sprint(resp.Results) != fmt.Sprint([]ua.StatusCode{ua.Good}) {
			k.t.Errorf("deleting: %v", resp.Results)
		}
	}, func() ua.StatusCode { return create(second) }
}
