//go:build storm

package storm

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

var (
	clients   = flag.Int("storm.clients", 200, "number of clients that connect at once")
	processes = flag.Int("storm.processes", 1, "number of processes that the clients are in")
	sealing   = flag.Int("storm.sealing", 16, "number of clients of a process that prepare a request to open a channel at once")
	patience  = flag.Duration("storm.timeout", 5*time.Second, "time after which a client gives an attempt up")
	limit     = flag.Duration("storm.limit", 3*time.Minute, "time in which all clients must be in")
	program   = flag.String("storm.program", "", "the program that is the server; it is built without this")
)

// operations are what a client costs the lane that gets in at the first attempt:
// two for its channel, one each to create and to activate its session.
const operations = 4

func TestMain(m *testing.M) {
	loadproc.Play(loadproc.Roles{crowdRole: loadproc.Role(rush)})
	flag.Parse()
	os.Exit(m.Run())
}

// Thousands of clients that connect at once and retry end in exactly that many
// sessions; no key operation is spent on a client that has gone; and nobody who
// was there before is disturbed: every value arrives, keep-alives come.
func TestStorm(t *testing.T) {
	n := *clients
	s := loadproc.Serve(t, loadproc.ServerConfig{Program: *program, Sessions: n + 100})
	before := s.LookClean(t)
	canary := loadproc.NewCanary(t, loadproc.CanaryConfig{Endpoint: s.Endpoint, Patience: *patience})
	idler := newIdler(t, s.Endpoint)
	crowds := gather(t, s.Endpoint, n, max(1, min(*processes, n)))
	quiet := s.Look(t)

	stop := s.Sample(t, 100*time.Millisecond) // what the server holds while they come
	began := time.Now()
	for _, c := range crowds {
		c.Tell(t, "go")
	}
	for _, c := range crowds {
		c.Expect(t, "over", *limit+time.Minute)
	}
	took := time.Since(began)
	r := crowdReport{Others: make(map[string]int)}
	for _, c := range crowds {
		var part crowdReport
		c.Read(t, time.Minute, &part)
		r.add(part)
	}
	time.Sleep(time.Second) // of what timed out at the last moment
	most := stop()
	full := s.Look(t)
	lane, worked := full.Stats.Lane, full.Stats.Lane.Worked-quiet.Stats.Lane.Worked
	t.Logf("%d of %d clients in after %.1f s: %d attempts, %d timed out, %d refused (%d with a hint)", r.In, n, took.Seconds(),
		r.Attempts, r.Timeouts, r.Refused, r.Hinted)
	t.Logf("in after: median %.1f s, p99 %.1f s; refused after: median %.0f ms, p99 %.0f ms", quantile(r.Waits, .5)/1000,
		quantile(r.Waits, .99)/1000, quantile(r.Refusals, .5), quantile(r.Refusals, .99))
	t.Logf("lane: %d operations of %v, %.2f for each client; %d refused, %d dropped; at most %d waiting, %v", worked,
		lane.Average.Round(time.Microsecond), float64(worked)/float64(n), lane.Refused, lane.Unheard, most.Stats.Lane.Waiting,
		most.Stats.Lane.Wait.Round(time.Millisecond))
	for text, n := range r.Others {
		t.Logf("%d times: %s", n, text)
	}

	want := n + quiet.Sessions
	if r.In != n || full.Sessions != want || full.Channels != n+quiet.Channels {
		t.Errorf("%d clients are in, and the server has %d sessions on %d channels; there were %d on %d before", r.In, full.Sessions,
			full.Channels, quiet.Sessions, quiet.Channels)
	}
	if r.Usable != r.In || r.Lost > 0 {
		t.Errorf("%d of %d clients could read, %d have lost their connection", r.Usable, r.In, r.Lost)
	}
	if most.Sessions > want {
		t.Errorf("the server had %d sessions at a time, and there are %d clients", most.Sessions, want)
	}
	if r.Hinted != r.Refused || len(r.Others) > 0 {
		t.Errorf("%d refusals do not say when to come back, %d kinds of other errors", r.Refused-r.Hinted, len(r.Others))
	}
	if r.Timeouts > r.Attempts/100 {
		t.Errorf("%d of %d attempts were left to time out, more than a hundredth", r.Timeouts, r.Attempts)
	}
	// From the first word to the refusal, with the client's own key operations.
	if at := quantile(r.Refusals, .5); at > 500 {
		t.Errorf("half of the refusals took %.0f ms and more", at)
	}
	if most := operations * (n + r.Timeouts); int(worked) > most {
		t.Errorf("%d key operations, and clients who wait cost at most %d", worked, most)
	}
	idler.end(t, r.Refused)
	canary.End(t, time.Second)
	for _, c := range crowds {
		c.CloseInput()
	}
	for _, c := range crowds {
		if err := c.Wait(t, time.Minute); err != nil {
			t.Errorf("a process of clients ends with %v: %s", err, c.Errors())
		}
	}
	left := s.Returned(t, before, want)
	t.Logf("before: %v", before)
	t.Logf("after:  %v", left)
	s.Stop(t, 5*time.Second)
}

// gather starts the processes of the clients, which wait until they are told to
// connect.
func gather(t *testing.T, endpoint string, clients, processes int) (crowds []*loadproc.Child) {
	t.Helper()
	for i := range processes {
		share := clients / processes
		if i < clients%processes {
			share++
		}
		crowds = append(crowds, loadproc.Start(t, loadproc.Place{}, crowdRole, crowdConfig{
			Endpoint: endpoint, Clients: share, Patience: *patience, Limit: *limit, Sealing: max(1, *sealing),
		}))
	}
	for _, c := range crowds {
		c.Expect(t, "ready", time.Minute)
	}
	return crowds
}
