package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"time"
)

// startServer runs "uaload serve" on a free port and returns its URL. stop ends
// it; the end of the test does so, too.
func startServer(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	var f serveFlags
	if err := f.parse(commands[0], append([]string{"-endpoint", "opc.tcp://127.0.0.1:0"}, args...)); err != nil {
		t.Fatal(err)
	}
	srv, err := f.server()
	if err != nil {
		t.Fatal(err)
	}
	l, err := srv.Listen()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- srv.ServeListener(ctx, l) }()
	ended := false
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return "opc.tcp://" + l.Addr().String(), stop
}

// listen takes a free port and returns it as the URL of a server that says
// nothing.
func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return "opc.tcp://" + l.Addr().String()
}

// figures runs a command with -json and returns what it printed.
func figures(t *testing.T, args string) (map[string]any, error) {
	t.Helper()
	var out bytes.Buffer
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	err := run(ctx, append(strings.Fields(args), "-json"), &out)
	r := map[string]any{}
	if out.Len() > 0 {
		if bad := json.Unmarshal(out.Bytes(), &r); bad != nil {
			t.Fatalf("uaload %s printed %q: %v", args, out.String(), bad)
		}
	}
	return r, err
}

const secure = " -security Basic256Sha256/SignAndEncrypt"

// Every load runs against the benchmark's server and tells what scripts read.
func TestLoadsGiveFigures(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "1000,70000", "-nodes", "2500")
	brief := " -duration 200ms -warmup 50ms -clients 2 -endpoint " + url + " -pid " + pid()
	rate := []string{"requests_per_second", "requests", "seconds", "server_cpu_us_per_request", "client_cpu_us_per_request"}
	for _, c := range []struct {
		args string
		want []string // keys whose value is above 0
	}{
		{"read -inflight 10", rate},
		{"read -nodes 250" + secure, rate},
		{"read -node ns=1;i=100001 -spread 2500 -nodes 30", rate},
		{"read -array 70000 -inflight 3", append(rate, "array_elements", "megabytes_per_second")},
		{"write -inflight 10 -spread 50", rate},
		{"write -nodes 7 -node ns=1;i=1051 -spread 50" + secure, rate},
		{"write -array 1000", append(rate, "array_elements")},
		{"browse", append(rate, "references_per_request")},
		{"browse -node ns=1;i=1000 -inflight 3 -nodes 2" + secure, append(rate, "references_per_request")},
		{"array -size 70000", append(rate, "array_elements")},
		{"array -size 70000 -op write" + secure, append(rate, "array_elements")},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			r, err := figures(t, c.args+brief)
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range append(c.want, "server_rss_bytes", "server_cpu_percent") {
				if n, ok := r[key].(float64); !ok || n <= 0 {
					t.Errorf("%s is %v", key, r[key])
				}
			}
			for _, key := range []string{"failures", "unanswered"} {
				if r[key] != 0.0 {
					t.Errorf("%s is %v", key, r[key])
				}
			}
			if e, ok := r["errors"].(map[string]any); !ok || len(e) > 0 || r["notes"] != nil {
				t.Errorf("errors are %v, notes %v", r["errors"], r["notes"])
			}
			checkLatency(t, r)
			if got, ok := r["references_per_request"]; ok && strings.Contains(c.args, "i=1000") && got != 200.0 {
				t.Errorf("%v references", got)
			}
			// The requests of the time, as the rate says.
			if n := r["requests_per_second"].(float64) * r["seconds"].(float64); n < r["requests"].(float64)-1 || n > r["requests"].(float64)+1 {
				t.Errorf("%v requests in %v s at %v/s", r["requests"], r["seconds"], r["requests_per_second"])
			}
		})
	}
}

func checkLatency(t *testing.T, r map[string]any) {
	t.Helper()
	l, ok := r["latency_us"].(map[string]any)
	if !ok {
		t.Fatalf("latency_us is %v", r["latency_us"])
	}
	least := 1.0
	for _, key := range []string{"p50", "p90", "p99", "p999", "max"} {
		n, ok := l[key].(float64)
		if !ok || n < least || n > longest {
			t.Errorf("latency_us.%s is %v", key, l[key])
		}
		least = n
	}
}

// A run of subscriptions sees each value once, and tells the overflow of queues
// that are made too small from that.
func TestSubscribeSeesEveryValue(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "none")
	brief := "subscribe -duration 400ms -warmup 50ms -rate 50 -publishing 20ms -endpoint " + url + " -pid " + pid() + " "
	run := func(args string) (map[string]any, error) { return figures(t, brief+args) }
	for _, args := range []string{"-clients 3 -subscriptions 2 -items 20", "-items 7 -nodes 3" + secure} {
		r, err := run(args)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		for _, key := range []string{"missing", "repeated", "out_of_order", "unexpected", "overflows", "failures", "lost_messages"} {
			if r[key] != 0.0 {
				t.Errorf("%s: %s is %v", args, key, r[key])
			}
		}
		for _, key := range []string{"notifications", "notifications_per_second", "expected", "changes_per_second", "publishing_interval_ms", "queue_size", "server_cpu_us_per_notification", "server_rss_bytes"} {
			if n, ok := r[key].(float64); !ok || n <= 0 {
				t.Errorf("%s: %s is %v", args, key, r[key])
			}
		}
		checkLatency(t, r)
	}
	r, err := run("-items 5 -queue 1 -publishing 100ms -rate 200")
	if err == nil || r["missing"] == 0.0 || len(r["notes"].([]any)) == 0 || r["repeated"] != 0.0 || r["out_of_order"] != 0.0 {
		t.Errorf("a queue that is too small: %v, %v", r, err)
	}
}

// A load that has nothing to work on says what is missing and does not begin.
func TestLoadsThatCannotStartSayWhy(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "10", "-security", "None")
	for _, c := range []struct{ args, want string }{
		{"read -node ns=1;i=999999", "cannot start: node ns=1;i=999999 cannot be read"},
		{"read -spread 200 -nodes 150", "cannot start: node 101 of 150 in a request: BadNodeIdUnknown"},
		{"write -node i=2267 -spread 1", "cannot start: node 1 of 1 in a request cannot be written: BadNotWritable"},
		{"write -node i=2254 -spread 1", "cannot be written by uaload"},
		{"browse -node ns=1;i=7", "cannot start: node ns=1;i=7: BadNodeIdUnknown"},
		{"browse -node ns=1;i=1001", "has no references to browse"},
		{"array -size hd", "no array of 921600 elements from ns=1;i=2001 on, but of [10]"},
		{"read -array 11 -node ns=1;i=2001", "has no array of 11 elements, but Int32[10]"},
		{"subscribe -node ns=1;i=1050 -nodes 60 -items 60", "cannot start: node ns=1;i=1101 cannot be read"},
		{"subscribe -node i=2267 -nodes 1", "node i=2267 is Byte"},
		{"read" + secure, "client:"},
	} {
		start := time.Now()
		r, err := figures(t, c.args+" -endpoint "+url)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(r) > 0 {
			t.Errorf("uaload %s:\n got %v\nwant %s", c.args, err, c.want)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("uaload %s: took %v", c.args, took)
		}
	}
}

// A server that goes away ends the load at once: with what was counted, and an
// error that says what has happened.
func TestALostServerEndsTheLoad(t *testing.T) {
	for _, args := range []string{"read -clients 3 -inflight 5", "subscribe -clients 2 -items 3"} {
		url, stop := startServer(t, "-array-sizes", "none", "-security", "None")
		go func() {
			time.Sleep(300 * time.Millisecond)
			stop()
		}()
		start := time.Now()
		r, err := figures(t, args+" -duration 20s -warmup 50ms -endpoint "+url)
		if err == nil || !strings.Contains(err.Error(), "lost its connection") && !strings.Contains(err.Error(), "writer failed") {
			t.Errorf("uaload %s: %v", args, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("uaload %s: took %v", args, took)
		}
		if strings.HasPrefix(args, "read") {
			// Of the 15 requests in flight each that is lost counts once. Others may
			// be answered meanwhile, and are the last ones then.
			n, _ := r["failures"].(float64)
			e, _ := r["errors"].(map[string]any)
			refused := 0.0 // by a server that still answers while it ends
			for _, code := range []string{"BadShutdown", "BadSessionIdInvalid", "BadSessionClosed"} {
				count, _ := e[code].(float64)
				refused += count
			}
			if len(e) == 0 || n < 1 || n-refused > 15 || r["requests"] == 0.0 {
				t.Errorf("uaload %s: %v", args, r)
			}
		}
	}
}

// A server that accepts and says nothing does not hold up a load for long.
func TestASilentServerIsReported(t *testing.T) {
	start := time.Now()
	_, err := figures(t, "read -timeout 300ms -endpoint "+listen(t))
	if err == nil || !strings.Contains(err.Error(), "no server answers") {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}
