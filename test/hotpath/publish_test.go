package hotpath

import (
	"testing"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
)

const (
	// beating is the number of subscriptions whose messages are counted, each of
	// them with a cycle of 10 ms.
	beating = 20
	// messages are counted together, in about half a second.
	messages = 1000
)

// A keep-alive is a whole round: the Publish request is parked, a cycle ends
// without anything to report, and the request is answered (Part 4, 5.14.1.1).
func TestKeepAlivesAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop things at random: allocations cannot be counted")
	}
	endpoint, count := startServer(t)
	for _, security := range []string{"None", "Basic256Sha256/SignAndEncrypt"} {
		t.Run(security, func(t *testing.T) {
			c := connect(t, endpoint, security)
			ids := subscribe(t, c)
			first := publish(t, c)
			if m := first.NotificationMessage; len(m.NotificationData) != 0 || m.SequenceNumber != 1 {
				t.Fatalf("no keep-alive: %+v", first)
			}
			f := newFlight(t, c, new(ua.PublishRequest), beating)
			withoutGarbage(t, count, messages, func() { f.run(t, messages) })
			unsubscribe(t, c, ids)
		})
	}
}

// A data notification is the same with a write before it, and acknowledges the
// one before.
func TestNotificationsAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop things at random: allocations cannot be counted")
	}
	endpoint, count := startServer(t)
	for _, security := range []string{"None", "Basic256Sha256/SignAndEncrypt"} {
		t.Run(security, func(t *testing.T) {
			c := connect(t, endpoint, security)
			ids := subscribe(t, c)
			monitor(t, c, ids)
			// What is taken in one round is acknowledged in the next.
			acks, value := make([]ua.SubscriptionAcknowledgement, 0, beating), int32(1000)
			withoutGarbage(t, count, messages, func() {
				for taken := 0; taken < messages; {
					value++
					write(t, c, value)
					var got []ua.SubscriptionAcknowledgement
					for i := range beating {
						req := new(ua.PublishRequest)
						if i < len(acks) {
							req.SubscriptionAcknowledgements = acks[i : i+1]
						}
						var resp ua.PublishResponse
						if err := c.Do(t.Context(), req, &resp); err != nil {
							t.Fatal(err)
						}
						for _, r := range resp.Results {
							if r != ua.Good {
								t.Fatal(r)
							}
						}
						if m := resp.NotificationMessage; len(m.NotificationData) > 0 {
							taken++
							got = append(got, ua.SubscriptionAcknowledgement{
								SubscriptionID: resp.SubscriptionID, SequenceNumber: m.SequenceNumber,
							})
						}
					}
					acks = append(acks[:0], got...)
				}
			})
			unsubscribe(t, c, ids)
		})
	}
}

// withoutGarbage fails the test unless the work allocates nothing in one of a
// few tries.
func withoutGarbage(t *testing.T, count counter, units int, run func()) {
	t.Helper()
	var objects, bytes float64
	for range tries {
		if objects, bytes = garbage(count, units, run); objects <= objectsAllowed && bytes <= bytesAllowed {
			return
		}
	}
	t.Errorf("%.3f objects and %.1f bytes allocated for each message", objects, bytes)
}

// subscribe makes subscriptions that have something to say in each cycle.
func subscribe(t *testing.T, c *client.Client) (ids []uint32) {
	t.Helper()
	for range beating {
		var resp ua.CreateSubscriptionResponse
		err := c.Do(t.Context(), &ua.CreateSubscriptionRequest{
			RequestedPublishingInterval: 10, RequestedLifetimeCount: 1000, RequestedMaxKeepAliveCount: 1, PublishingEnabled: true,
		}, &resp)
		if err != nil || resp.RevisedPublishingInterval != 10 || resp.RevisedMaxKeepAliveCount != 1 {
			t.Fatal(err, resp)
		}
		ids = append(ids, resp.SubscriptionID)
	}
	return ids
}

func unsubscribe(t *testing.T, c *client.Client, ids []uint32) {
	t.Helper()
	var resp ua.DeleteSubscriptionsResponse
	if err := c.Do(t.Context(), &ua.DeleteSubscriptionsRequest{SubscriptionIDs: ids}, &resp); err != nil {
		t.Fatal(err)
	}
}

func publish(t *testing.T, c *client.Client) (resp ua.PublishResponse) {
	t.Helper()
	if err := c.Do(t.Context(), new(ua.PublishRequest), &resp); err != nil {
		t.Fatal(err)
	}
	return resp
}

// monitor has each subscription watch all variables.
func monitor(t *testing.T, c *client.Client, ids []uint32) {
	t.Helper()
	for _, id := range ids {
		req := &ua.CreateMonitoredItemsRequest{SubscriptionID: id, TimestampsToReturn: ua.TimestampsToReturnBoth}
		for i := range nodes {
			req.ItemsToCreate = append(req.ItemsToCreate, ua.MonitoredItemCreateRequest{
				ItemToMonitor: client.ValueID(ua.NumericID(1, uint32(i+1))), MonitoringMode: ua.MonitoringModeReporting,
				RequestedParameters: ua.MonitoringParameters{ClientHandle: uint32(i), SamplingInterval: -1, QueueSize: 1},
			})
		}
		var resp ua.CreateMonitoredItemsResponse
		if err := c.Do(t.Context(), req, &resp); err != nil {
			t.Fatal(err)
		}
		for _, r := range resp.Results {
			if r.StatusCode != ua.Good {
				t.Fatal(r.StatusCode)
			}
		}
	}
}

// write gives all variables a new value.
func write(t *testing.T, c *client.Client, value int32) {
	t.Helper()
	req := new(ua.WriteRequest)
	for i := range nodes {
		req.NodesToWrite = append(req.NodesToWrite, ua.WriteValue{
			NodeID: ua.NumericID(1, uint32(i+1)), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(value)},
		})
	}
	var resp ua.WriteResponse
	if err := c.Do(t.Context(), req, &resp); err != nil {
		t.Fatal(err)
	}
	for _, r := range resp.Results {
		if r != ua.Good {
			t.Fatal(r)
		}
	}
}
