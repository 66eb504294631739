package sessionactor_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/sessionactor"
)

func (w *bench) requests(service string) sessionactor.Requests {
	for _, r := range w.tap.Service.Requests() {
		if r.Service == service {
			return r
		}
	}
	return sessionactor.Requests{}
}

// await waits until a service has answered so many requests: they count when
// their answers have left, which is a moment after the client may have them.
func (w *bench) await(service string, n uint64) sessionactor.Requests {
	for deadline := time.Now().Add(10 * time.Second); ; runtime.Gosched() {
		r, sum := w.requests(service), uint64(0)
		for _, result := range r.Results {
			sum += result.Count
		}
		timed := service == "Publish" || r.Latency.Count() >= n
		if sum >= n && timed || time.Now().After(deadline) {
			return r
		}
	}
}

// Requests count by service and result when their answers leave, and once.
func TestRequestsCountByServiceAndResult(t *testing.T) {
	w := newBench(t)
	for range 3 {
		if _, err := w.client.ReadValues(t.Context(), ua.NumericID(1, 1001)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := w.client.Do(t.Context(), new(ua.ReadRequest), new(ua.ReadResponse)); ua.StatusOf(err) != ua.BadNothingToDo {
			t.Fatal(err)
		}
	}
	r := w.await("Read", 5)
	good, bad := sessionactor.Result{Status: ua.Good, Count: 3}, sessionactor.Result{Status: ua.BadNothingToDo, Count: 2}
	if len(r.Results) != 2 || r.Results[0] != good || r.Results[1] != bad || r.Other != 0 {
		t.Errorf("Read: %v", r.Results)
	}
	if n := r.Latency.Count(); n != 5 || r.Latency.Sum <= 0 || r.Latency.Sum > time.Minute {
		t.Errorf("%d latencies of %v together", n, r.Latency.Sum)
	}
	// An answer that leaves without a batch counts as well.
	if r := w.await("ActivateSession", 1); len(r.Results) != 1 || r.Results[0] != (sessionactor.Result{Count: 1}) || r.Latency.Count() != 1 {
		t.Errorf("ActivateSession: %+v", r)
	}
	if stats := w.tap.Service.Stats(); stats.Requests < 5 || stats.FailedRequests != 2 {
		t.Errorf("%d requests answered, %d of them with a fault", stats.Requests+stats.FailedRequests, stats.FailedRequests)
	}
}

// A Publish request counts when it is answered and not while it is parked.
func TestPublishRequestsCountWhenTheyAreAnswered(t *testing.T) {
	w := newBench(t)
	sub, err := w.client.Subscribe(t.Context(), client.SubscriptionConfig{Interval: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sub.Monitor(t.Context(), nil, client.Value(ua.NumericID(1, 1001))); err != nil {
		t.Fatal(err)
	}
	<-sub.Changes()
	parked := w.tap.Service.ParkedPublishes()
	if parked == 0 {
		t.Error("none is parked")
	}
	if err := sub.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := w.await("Publish", uint64(1+parked)) // they are refused since the last subscription is gone
	if len(r.Results) != 2 || r.Results[0].Status != ua.Good || r.Results[1].Status != ua.BadNoSubscription || r.Latency.Count() != 0 {
		t.Errorf("Publish: %+v", r)
	}
}
