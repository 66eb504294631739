package main

import (
	"encoding/csv"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// Every session gets every value and a keep-alive, and the result tells what
// scripts read.
func TestSessionsGetEveryValue(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "none")
	file := filepath.Join(t.TempDir(), "timeline.csv")
	brief := "sessions -sessions 12 -duration 1200ms -warmup 50ms -publishing 50ms -pid " + pid() + " -endpoint " + url
	written := []string{"notifications", "notifications_per_second", "expected", "delay_p50_ms", "delay_p99_ms", "delay_max_ms"}
	always := []string{
		"established", "established_per_second", "first_1000_per_second", "last_1000_per_second", "establish_seconds",
		"server_cpu_ms_per_established_session", "client_cpu_ms_per_established_session", "subscribe_seconds",
		"server_cpu_percent", "keep_alives", "server_sessions", "server_sessions_before", "server_sessions_after", "client_rss_bytes",
	}
	for _, c := range []struct {
		args string
		want []string // keys whose value is above 0
	}{
		{" -write 10ms -timeline " + file + secure, append(written, always...)},
		{" -write 0 -keep-alive 2", always},
	} {
		r, err := figures(t, brief+c.args)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		for _, key := range c.want {
			if n, ok := r[key].(float64); !ok || n <= 0 {
				t.Errorf("%s: %s is %v", c.args, key, r[key])
			}
		}
		for _, key := range []string{"missing", "repeated", "out_of_order", "unexpected", "lost_sessions", "sessions_without_keep_alive", "publish_failures"} {
			if r[key] != 0.0 {
				t.Errorf("%s: %s is %v", c.args, key, r[key])
			}
		}
		if e, ok := r["errors"].(map[string]any); !ok || len(e) > 0 {
			t.Errorf("%s: errors are %v", c.args, r["errors"])
		}
		if r["established"] != 12.0 || r["server_sessions"] != 13.0 || r["server_sessions_after"] != r["server_sessions_before"] {
			t.Errorf("%s: %v", c.args, r)
		}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil || len(lines) < 2 || !slices.Equal(lines[0], strings.Split(timelineHeader, ",")) || lines[1][2] != "12" {
		t.Errorf("timeline %q: %v", b, err)
	}
}

// A server that is full is not asked without end, and the sessions that it took
// are looked at all the same.
func TestAServerThatIsFullIsReported(t *testing.T) {
	url, _ := startServer(t, "-array-sizes", "none", "-security", "None", "-max-sessions", "4")
	r, err := figures(t, "sessions -sessions 500 -connecting 2 -duration 300ms -warmup 0s -publishing 50ms -write 10ms -endpoint "+url)
	if err == nil || !strings.Contains(err.Error(), "3 of 500 sessions were established") {
		t.Error(err)
	}
	// One that is not activated yet may have to make room for another.
	e, _ := r["errors"].(map[string]any)
	full, _ := e["BadTooManySessions"].(float64)
	evicted, _ := e["BadSessionIdInvalid"].(float64)
	if n := full + evicted; r["established"] != 3.0 || full == 0 || n < patience || n > 2*patience || r["missing"] != 0.0 {
		t.Errorf("%v", r)
	}
}

// Sessions that the server takes away are counted, with what they miss.
func TestLostSessionsAreCounted(t *testing.T) {
	url, stop := startServer(t, "-array-sizes", "none", "-security", "None")
	go func() {
		time.Sleep(700 * time.Millisecond)
		stop()
	}()
	r, err := figures(t, "sessions -sessions 5 -duration 20s -warmup 0s -publishing 50ms -write 10ms -endpoint "+url)
	if err == nil || r["lost_sessions"] == 0.0 {
		t.Errorf("%v, %v", r, err)
	}
	if e, _ := r["errors"].(map[string]any); len(e) == 0 {
		t.Errorf("errors are %v", e)
	}
}

// What went wrong fails a run, each by itself.
func TestAnythingWrongFailsASessionsRun(t *testing.T) {
	good := func() (*sessionsResult, *sessionsLoad) {
		r := &sessionsResult{Sessions: 10, Established: 10, SessionsBefore: 1, SessionsDuring: 11, SessionsAfter: 1}
		r.Notifications, r.Publishing, r.DelayP99, r.Errors = 5, 1000, 1299, map[string]int64{}
		return r, &sessionsLoad{sessionsFlags: &sessionsFlags{every: time.Second, late: 300 * time.Millisecond}}
	}
	if r, l := good(); r.failure(l) != nil {
		t.Fatal(r.failure(l))
	}
	for _, c := range []struct {
		spoil func(r *sessionsResult)
		want  string
	}{
		{func(r *sessionsResult) { r.Established = 9 }, "9 of 10"},
		{func(r *sessionsResult) { r.LostSessions = 1 }, "1 sessions were lost"},
		{func(r *sessionsResult) { r.Missing = 1 }, "1 are missing"},
		{func(r *sessionsResult) { r.Repeated = 1 }, "1 repeated"},
		{func(r *sessionsResult) { r.Disordered = 1 }, "1 out of order"},
		{func(r *sessionsResult) { r.DelayP99 = 1301 }, "1301 ms"},
		{func(r *sessionsResult) { r.Lost = 1 }, "1 messages were lost"},
		{func(r *sessionsResult) { r.PublishFailures = 1 }, "1 Publish requests"},
		{func(r *sessionsResult) { r.SilentSessions = 1 }, "1 sessions got no keep-alive"},
		{func(r *sessionsResult) { r.SessionsDuring = 12 }, "1 sessions more"},
		{func(r *sessionsResult) { r.SessionsAfter = 2 }, "2 sessions when all are closed"},
		{func(r *sessionsResult) { r.Errors["BadTimeout"] = 1 }, "Bad status"},
		{func(r *sessionsResult) { r.quietSessions([]uint64{1, 1}, []uint64{2, 1}) }, "1 sessions got no keep-alive"},
	} {
		r, l := good()
		c.spoil(r)
		if err := r.failure(l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// The first and the last thousand are told apart, or a tenth of fewer.
func TestRatesOfTheFirstAndTheLast(t *testing.T) {
	w := crowd{}
	for i := range 5000 {
		at := time.Duration(i+1) * time.Millisecond
		if i >= 4500 {
			at += time.Duration(i-4499) * time.Millisecond
		}
		w.at = append(w.at, at)
	}
	var r sessionsResult
	r.established(&w, 10*time.Second, &meter{})
	if r.Established != 5000 || r.EstablishedPerSecond != 500 || r.FirstPerSecond != 1000 || r.LastPerSecond != 500 {
		t.Errorf("%+v", r)
	}
	w.at = w.at[4980:]
	r.established(&w, time.Second, &meter{})
	if r.LastPerSecond != 500 {
		t.Errorf("a tenth of 20: %+v", r)
	}
	w.at = w.at[:1]
	r.established(&w, time.Second, &meter{})
	if r.FirstPerSecond != r.LastPerSecond || r.FirstPerSecond == 0 {
		t.Errorf("of one: %+v", r)
	}
}

// Times within a window count in it once, and in the whole all the same.
func TestAWindowShowsTheLastTimes(t *testing.T) {
	h := newWindowed()
	var batch times
	batch.record(10*time.Millisecond, h)
	if l, n := h.window(); n != 1 || l.P50 < 9900 || l.P50 > 10_100 {
		t.Errorf("%+v of %d", l, n)
	}
	batch.record(20*time.Millisecond, h)
	if l, n := h.window(); n != 1 || l.P50 < 19_900 {
		t.Errorf("%+v of %d", l, n)
	}
	if _, n := h.window(); n != 0 || h.h.TotalCount() != 2 {
		t.Errorf("%d in the last window, %d in all", n, h.h.TotalCount())
	}
}

// The page tells how many of everything the server has.
func TestThePageTellsWhatTheServerHolds(t *testing.T) {
	var f serveFlags
	if err := f.parse(commands[0], []string{"-array-sizes", "none"}); err != nil {
		t.Fatal(err)
	}
	srv, err := f.server()
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	for _, path := range []string{"/stats", "/stats?gc"} {
		w := httptest.NewRecorder()
		page(srv).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		var p footprint
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if p.Goroutines < 1 || p.HeapBytes == 0 || p.OpenFiles == 0 || p.Sessions != 0 || p.Stats.Nodes < 1000 {
			t.Errorf("%s: %+v", path, p)
		}
	}
	w := httptest.NewRecorder()
	page(srv).ServeHTTP(w, httptest.NewRequest("GET", "/debug/pprof/goroutine?debug=1", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), "goroutine profile") {
		t.Errorf("profile: %d", w.Code)
	}
}

// What one process may open ends a load before it begins.
func TestMoreSessionsThanFilesAreAMistake(t *testing.T) {
	if enoughFiles(1) != nil {
		t.Error(enoughFiles(1))
	}
	if err := enoughFiles(1 << 60); err == nil || !strings.Contains(err.Error(), "ulimit -n") {
		t.Error(err)
	}
}

// A server that is busy is obeyed, and one that is full is not asked again.
func TestOnlyABusyServerIsComeBackTo(t *testing.T) {
	refusal := func(code ua.StatusCode, reason string) error {
		return &client.ConnectionError{Op: "open", Err: &uasc.ErrorMessage{Code: code, Reason: reason}}
	}
	for _, c := range []struct {
		err  error
		want time.Duration
	}{
		{nil, 0},
		{refusal(ua.BadTcpServerTooBusy, "busy, retry-after=1.5s"), 1500 * time.Millisecond},
		{refusal(ua.BadServerTooBusy, "retry-after=2s"), 2 * time.Second},
		{refusal(ua.BadServerTooBusy, "busy"), 0},
		{refusal(ua.BadTooManySessions, "retry-after=2s"), 0},
		{ua.BadTimeout, 0},
	} {
		if wait, busy := comeBack(c.err); wait != c.want || busy != (c.want > 0) {
			t.Errorf("%v: %v, %v; want %v", c.err, wait, busy, c.want)
		}
	}
}

// Errors of sessions count by their code.
func TestTroubleIsCountedByStatus(t *testing.T) {
	var w crowd
	w.count(ua.BadTimeout, 3)
	w.trouble(ua.BadTimeout)
	names := map[string]int64{}
	w.errors.into(names)
	if names["BadTimeout"] != 4 {
		t.Errorf("%v", names)
	}
}
