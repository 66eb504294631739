// Package metrics shows the counters of a [uahive.Server] to Prometheus. It owns the
// names and the help texts of the metrics, and nothing else: every figure comes from
// Server.Stats at the moment of the scrape, and costs nothing in between. Programs
// that do not import it do not link the client library of Prometheus.
package metrics
