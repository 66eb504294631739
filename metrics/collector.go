package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/sessionactor"
)

// Option changes a collector.
type Option func(*options)

type options struct{ labels prometheus.Labels }

// ConstLabels puts the same labels on every metric, to tell the servers of one
// process apart.
func ConstLabels(labels prometheus.Labels) Option {
	return func(o *options) { o.labels = labels }
}

// collector implements prometheus.Collector.
type collector struct {
	stats func() uahive.Stats
	descs map[string]*prometheus.Desc
}

// NewCollector returns a collector for a server, to be registered with a registry.
// It may be called before the server serves, and goes on to tell the last figures
// after its end.
func NewCollector(srv *uahive.Server, opts ...Option) prometheus.Collector {
	return newCollector(srv.Stats, opts)
}

func newCollector(stats func() uahive.Stats, opts []Option) *collector {
	var o options
	for _, option := range opts {
		option(&o)
	}
	c := &collector{stats: stats, descs: make(map[string]*prometheus.Desc, len(metrics))}
	for _, m := range metrics {
		c.descs[m.name] = prometheus.NewDesc("uahive_"+m.name, m.help, m.labels, o.labels)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	s := c.stats()
	out := sink{c, ch}
	out.now(&s)
	out.counted(&s)
	out.requests(s.Requests)
}

// sink sends what it is given.
type sink struct {
	*collector
	ch chan<- prometheus.Metric
}

func (s sink) gauge(name string, value float64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(s.descs[name], prometheus.GaugeValue, value, labels...)
}

func (s sink) count(name string, n uint64, labels ...string) {
	s.ch <- prometheus.MustNewConstMetric(s.descs[name], prometheus.CounterValue, float64(n), labels...)
}

// now sends what the server has at this moment.
func (s sink) now(st *uahive.Stats) {
	s.gauge("uptime_seconds", st.Uptime.Seconds())
	s.gauge("channels", float64(st.Channels.Channels))
	s.gauge("sessions", float64(st.Sessions.Sessions))
	s.gauge("subscriptions", float64(st.Subscriptions.Subscriptions))
	s.gauge("orphaned_subscriptions", float64(st.Subscriptions.Orphans))
	s.gauge("monitored_items", float64(st.Subscriptions.MonitoredItems))
	s.gauge("parked_publishes", float64(st.ParkedPublishes))
	s.gauge("retransmission_bytes", float64(st.Subscriptions.KeptBytes))
	s.gauge("item_queue_bytes", float64(st.Subscriptions.QueueBytes))
	s.gauge("assembly_bytes", float64(st.Channels.AssemblyBytes))
	s.gauge("nodes", float64(st.Nodes))
	s.gauge("pool_size", float64(st.Pool.Size))
	s.gauge("pool_active", float64(st.Pool.Active))
	s.gauge("pool_waiting", float64(st.Pool.Waiting))
	s.gauge("handshake_lane_size", float64(st.Lane.Size))
	s.gauge("handshake_lane_active", float64(st.Lane.Active))
	s.gauge("handshake_lane_waiting", float64(st.Lane.Waiting))
	s.gauge("handshake_lane_task_seconds", st.Lane.Average.Seconds())
	s.gauge("handshake_lane_wait_seconds", st.Lane.Wait.Seconds())
	for kind, n := range st.Goroutines {
		s.gauge("goroutines", float64(n), kind)
	}
}

// counted sends what happened since the start.
func (s sink) counted(st *uahive.Stats) {
	ch, se, su := &st.Channels, &st.Sessions, &st.Subscriptions
	s.count("connections_accepted_total", ch.Accepted)
	for _, r := range ch.Rejected {
		s.count("connections_rejected_total", r.Count, label(r.Reason), status(r.Status))
	}
	s.count("channels_opened_total", ch.Opened)
	s.count("channels_renewed_total", ch.Renewed)
	for _, r := range ch.Closed {
		s.count("channels_closed_total", r.Count, label(r.Reason))
	}
	s.count("received_bytes_total", ch.BytesIn)
	s.count("sent_bytes_total", ch.BytesOut)

	s.count("sessions_created_total", se.Created)
	s.count("sessions_activated_total", se.Activated)
	s.count("sessions_rejected_total", se.Denied, "identity")
	s.count("sessions_rejected_total", se.Refused, "limit")
	s.count("sessions_ended_total", se.Closed, "closed")
	s.count("sessions_ended_total", se.TimedOut, "timed_out")
	s.count("sessions_ended_total", se.Evicted, "evicted")
	s.count("sessions_ended_total", se.Aborted, "aborted")

	s.count("subscriptions_created_total", su.SubscriptionsCreated)
	s.count("subscriptions_expired_total", su.SubscriptionsExpired)
	s.count("publish_requests_received_total", su.PublishReceived)
	s.count("notifications_total", su.NotificationsSent)

	s.count("dropped_total", su.ValuesLost, "item_queue_full")
	s.count("dropped_total", su.SamplesSkipped, "sample_pool_full")
	s.count("dropped_total", su.MessagesDiscarded, "message_not_acknowledged")
	s.count("dropped_total", su.PublishRefused, "too_many_publish_requests")
	s.count("dropped_total", su.PublishDropped, "publish_channel_gone")
	s.count("dropped_total", st.Pool.Rejected, "pool_full")
	s.count("dropped_total", st.HooksDropped, "hooks_behind")

	s.count("handshake_lane_completed_total", st.Lane.Worked)
	s.count("handshake_lane_rejected_total", st.Lane.Refused)
	s.count("handshake_lane_abandoned_total", st.Lane.Unheard)
	s.count("callback_panics_total", st.Panics)
	s.count("channel_panics_total", ch.Panics)
}

// requests sends what each service did.
func (s sink) requests(list []sessionactor.Requests) {
	for i := range list {
		r := &list[i]
		for _, result := range r.Results {
			s.count("requests_total", result.Count, r.Service, status(result.Status))
		}
		if r.Other > 0 {
			s.count("requests_total", r.Other, r.Service, "other")
		}
		if r.Latency.Count() > 0 {
			s.ch <- histogram(s.descs["request_duration_seconds"], &r.Latency, r.Service)
		}
	}
}

// histogram makes the buckets cumulative, as Prometheus has them.
func histogram(desc *prometheus.Desc, l *sessionactor.Latency, labels ...string) prometheus.Metric {
	buckets := make(map[float64]uint64, len(l.Buckets))
	n := uint64(0)
	for i, count := range l.Buckets {
		n += count
		if bound, ok := sessionactor.LatencyBound(i); ok {
			buckets[bound.Seconds()] = n
		}
	}
	return prometheus.MustNewConstHistogram(desc, n, l.Sum.Seconds(), buckets, labels...)
}

// label makes a label value of a reason in words.
func label(reason string) string { return strings.ReplaceAll(strings.ToLower(reason), " ", "_") }

// status is the standard's name of a status code.
func status(code ua.StatusCode) string { return code.String() }
