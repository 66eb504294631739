package metrics_test

import (
	"context"
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/metrics"
)

// A page for Prometheus beside the server.
func ExampleNewCollector() {
	srv, err := uahive.New(uahive.Config{})
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(srv, metrics.ConstLabels(prometheus.Labels{"server": "press"})))
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	go http.ListenAndServe("127.0.0.1:9464", nil)
	log.Fatal(srv.Serve(context.Background()))
}
