//go:build soak

package soak

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

var (
	sessions = flag.Int("soak.sessions", fromEnvironment("UAHIVE_SOAK_SESSIONS", 500), "number of sessions; UAHIVE_SOAK_SESSIONS is the default")
	duration = flag.Duration("soak.duration", time.Minute, "how long values are written")
	security = flag.String("soak.security", "Basic256Sha256/SignAndEncrypt", "what secures the sessions; several with commas between them run one after the other")
	program  = flag.String("soak.program", "", "the program that is server and load; it is built without this")
	results  = flag.String("soak.out", "", "folder that gets the figures and the timeline of each run; nothing is kept without it")
)

func fromEnvironment(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// figures is what the test looks at of what "uaload sessions" prints.
type figures struct {
	Established    int              `json:"established"`
	PerSecond      float64          `json:"established_per_second"`
	FirstPerSecond float64          `json:"first_1000_per_second"`
	LastPerSecond  float64          `json:"last_1000_per_second"`
	CPUEach        float64          `json:"server_cpu_ms_per_established_session"`
	Subscribe      float64          `json:"subscribe_seconds"`
	Expected       int64            `json:"expected"`
	Missing        int64            `json:"missing"`
	Repeated       int64            `json:"repeated"`
	Disordered     int64            `json:"out_of_order"`
	Errors         map[string]int64 `json:"errors"`
	LostSessions   int64            `json:"lost_sessions"`
	KeepAlives     int64            `json:"keep_alives"`
	PerSession     float64          `json:"rss_bytes_per_session"`
	Notifications  float64          `json:"notifications_per_second"`
	CPUPercent     float64          `json:"server_cpu_percent"`
	ClientPercent  float64          `json:"client_cpu_percent"`
	DelayP50       float64          `json:"delay_p50_ms"`
	DelayP99       float64          `json:"delay_p99_ms"`
	DelayMax       float64          `json:"delay_max_ms"`
}

// Each of very many sessions gets every value that is written, in order and
// once, within the publishing interval and a little; and when all have gone the
// server is what it was before.
func TestEverySessionGetsEveryValueAndLeavesNothing(t *testing.T) {
	uaload := *program
	if uaload == "" {
		uaload = loadproc.Build(t)
	}
	for name := range strings.SplitSeq(*security, ",") {
		t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) { soak(t, uaload, name) })
	}
}

func soak(t *testing.T, uaload, security string) {
	n := *sessions
	s := loadproc.Serve(t, loadproc.ServerConfig{Program: uaload, Sessions: n + 1})
	// What a server makes once, with the first sessions, is there before.
	s.Load(t, "sessions", "-security", security, "-sessions", "8", "-duration", "1s", "-warmup", "0s", "-publishing", "100ms", "-write", "50ms")
	before := s.Settle(t, loadproc.Footprint.Busy)
	stop := s.Sample(t, 2*time.Second)
	folder := t.TempDir()
	if *results != "" {
		folder = *results
	}
	base := filepath.Join(folder, fmt.Sprintf("sessions-%d-%s", n, strings.ReplaceAll(security, "/", "-")))
	over, apart := make(chan struct{}), make(chan breakdown, 1)
	go func() { apart <- takeApart(s, n, *duration, base+".heap.pb.gz", over) }() // ends with over
	out := s.Load(t, "sessions", "-security", security, "-sessions", strconv.Itoa(n), "-duration", duration.String(), "-timeline", base+".csv")
	close(over)
	parts := <-apart
	most := stop()
	var f figures
	if err := json.Unmarshal(out, &f); err != nil {
		t.Fatalf("uaload printed %q: %v", out, err)
	}
	if *results != "" {
		if err := os.WriteFile(base+".json", out, 0o644); err != nil {
			t.Error(err)
		}
	}
	if parts.err != nil {
		t.Errorf("what the memory is made of: %v", parts.err)
	} else {
		made := parts.table(n, f.PerSession)
		t.Log("\n" + made)
		if *results != "" {
			if err := os.WriteFile(base+".breakdown.txt", []byte(made), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	// uaload has judged all of this already, and would have failed. That it looked
	// at so much shows that it did not judge nothing.
	writes := int64((*duration).Seconds() / 0.5)
	if f.Established != n || f.Expected < int64(n)*(writes-2) || f.KeepAlives < int64(n) {
		t.Errorf("%d sessions with %d values and %d keep-alives", f.Established, f.Expected, f.KeepAlives)
	}
	if f.Missing+f.Repeated+f.Disordered+f.LostSessions > 0 || len(f.Errors) > 0 {
		t.Errorf("%+v", f)
	}
	if most.Sessions != n+1 || most.Subscriptions != n || most.MonitoredItems != n {
		t.Errorf("the server had %d sessions, %d subscriptions and %d items", most.Sessions, most.Subscriptions, most.MonitoredItems)
	}
	after := s.Returned(t, before, n)
	s.Stop(t, 10*time.Second)
	t.Log("\n" + table(n, security, f, before, most, after))
}

// table is what a run has shown.
func table(n int, security string, f figures, before, most, after loadproc.Footprint) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-34s %s\n", name, fmt.Sprintf(format, args...))
	}
	fmt.Fprintf(&b, "%d sessions, %s\n", n, security)
	line("established per second", "%.0f (first %.0f, last %.0f)", f.PerSecond, f.FirstPerSecond, f.LastPerSecond)
	line("server CPU to establish one", "%.2f ms", f.CPUEach)
	line("all subscribed after", "%.2f s", f.Subscribe)
	line("values", "%d expected, %d missing, %d repeated, %d out of order", f.Expected, f.Missing, f.Repeated, f.Disordered)
	line("notifications per second", "%.0f", f.Notifications)
	line("delay", "p50 %.0f ms, p99 %.0f ms, most %.0f ms", f.DelayP50, f.DelayP99, f.DelayMax)
	line("server CPU", "%.1f %% of a core (client %.1f %%)", f.CPUPercent, f.ClientPercent)
	line("resident memory per session", "%.1f KiB", f.PerSession/1024)
	fmt.Fprintf(&b, "  %-34s %12s %12s %12s\n", "the server", "before", "most", "after")
	row := func(name string, get func(loadproc.Footprint) int) {
		fmt.Fprintf(&b, "  %-34s %12d %12d %12d\n", name, get(before), get(most), get(after))
	}
	row("goroutines", func(f loadproc.Footprint) int { return f.Goroutines })
	row("open files", func(f loadproc.Footprint) int { return f.OpenFiles })
	row("channels", func(f loadproc.Footprint) int { return f.Channels })
	row("sessions", func(f loadproc.Footprint) int { return f.Sessions })
	row("subscriptions", func(f loadproc.Footprint) int { return f.Subscriptions })
	row("monitored items", func(f loadproc.Footprint) int { return f.MonitoredItems })
	row("heap KiB", func(f loadproc.Footprint) int { return int(f.HeapBytes >> 10) })
	row("stacks KiB", func(f loadproc.Footprint) int { return int(f.StackBytes >> 10) })
	return b.String()
}
