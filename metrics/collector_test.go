package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/sessionactor"
)

func busy() uahive.Stats {
	s := uahive.Stats{
		Uptime: 90 * time.Second, ParkedPublishes: 7, Goroutines: map[string]int{"reader": 3},
		Requests: []sessionactor.Requests{
			{Service: "Read", Results: []sessionactor.Result{{Status: ua.Good, Count: 5}, {Status: ua.BadNothingToDo, Count: 2}}},
			{Service: "Publish", Results: []sessionactor.Result{{Status: ua.Good, Count: 9}}, Other: 1},
		},
	}
	s.Channels.Rejected = []channelactor.Rejection{{Reason: "channel limit", Status: ua.BadTcpServerTooBusy, Count: 4}}
	s.Channels.Closed = []channelactor.Closed{{Reason: "peer does not read", Count: 1}}
	s.Requests[0].Latency.Buckets[1], s.Requests[0].Latency.Buckets[21] = 6, 1
	s.Requests[0].Latency.Sum = 6 * time.Second
	return s
}

// The names follow the conventions, and every metric is documented.
func TestMetricsFollowTheConventions(t *testing.T) {
	c := newCollector(busy, nil)
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	if err := prometheus.NewPedanticRegistry().Register(c); err != nil {
		t.Error(err)
	}
}

// Figures arrive under their names, with their labels.
func TestFiguresAreShown(t *testing.T) {
	c := newCollector(busy, []Option{ConstLabels(prometheus.Labels{"server": "press"})})
	want := `
# HELP uahive_connections_rejected_total Connections that were not let in, or ended by the server before their channel was open.
# TYPE uahive_connections_rejected_total counter
uahive_connections_rejected_total{reason="channel_limit",server="press",status="BadTcpServerTooBusy"} 4
# HELP uahive_parked_publishes Publish requests that wait for something to report.
# TYPE uahive_parked_publishes gauge
uahive_parked_publishes{server="press"} 7
# HELP uahive_requests_total Requests by service and service result.
# TYPE uahive_requests_total counter
uahive_requests_total{server="press",service="Publish",status="Good"} 9
uahive_requests_total{server="press",service="Publish",status="other"} 1
uahive_requests_total{server="press",service="Read",status="BadNothingToDo"} 2
uahive_requests_total{server="press",service="Read",status="Good"} 5
`
	if err := testutil.CollectAndCompare(c, strings.NewReader(want),
		"uahive_connections_rejected_total", "uahive_parked_publishes", "uahive_requests_total"); err != nil {
		t.Error(err)
	}
}

// A histogram is cumulative: what is above its last bound is in the count alone.
func TestLatenciesAreCumulative(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(newCollector(busy, nil))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "uahive_request_duration_seconds" {
			continue
		}
		h := f.GetMetric()[0].GetHistogram()
		last := h.GetBucket()[len(h.GetBucket())-1]
		if len(f.GetMetric()) != 1 || h.GetSampleCount() != 7 || h.GetSampleSum() != 6 || last.GetCumulativeCount() != 6 ||
			h.GetBucket()[0].GetCumulativeCount() != 0 || h.GetBucket()[0].GetUpperBound() != 4096e-9 {
			t.Errorf("%v", f)
		}
		return
	}
	t.Error("no histogram")
}
