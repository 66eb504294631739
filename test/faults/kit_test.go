//go:build faults && linux

package faults

import (
	"flag"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

var (
	program = flag.String("faults.program", "", "the program that serves; it is built without this")
	// Of the canary's delay a tenth of a second is its publishing interval. Tests
	// run beside each other, so it is wide.
	canaryP99 = flag.Duration("faults.delay", time.Second, "the longest delay of 99 % of the canary's values; more where other programs use the machine")
)

// roles are what this binary can be beside a test. Each file adds its own, before
// TestMain looks.
var roles = make(loadproc.Roles)

func TestMain(m *testing.M) {
	loadproc.Play(roles)
	flag.Parse()
	code := m.Run()
	if built.folder != "" {
		os.RemoveAll(built.folder)
	}
	os.Exit(code)
}

// built is the program that all tests share.
var built struct {
	once   sync.Once
	folder string
}

// serverProgram builds the program once.
func serverProgram(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if *program != "" {
			return
		}
		folder, err := os.MkdirTemp("", "faults")
		if err != nil {
			t.Fatal(err)
		}
		built.folder, *program = folder, folder+"/uaload"
		if err := os.Rename(loadproc.Build(t), *program); err != nil {
			t.Fatal(err)
		}
	})
	return *program
}

// scene is a server with a canary. The canary is counted in before, so that what
// a test leaves behind can be told while it sings.
type scene struct {
	*loadproc.Server
	canary        *loadproc.Canary
	empty, before loadproc.Footprint
	began         time.Time
}

// sessionsOfCanary write and watch.
const sessionsOfCanary = 2

// begin starts a server for so many sessions, and a canary.
func begin(t *testing.T, sessions int, config loadproc.ServerConfig) *scene {
	t.Helper()
	config.Program, config.Sessions = serverProgram(t), sessions+sessionsOfCanary
	s := &scene{Server: loadproc.Serve(t, config), began: time.Now()}
	s.empty = s.LookClean(t)
	s.canary = loadproc.NewCanary(t, loadproc.CanaryConfig{Endpoint: s.Endpoint})
	s.before = s.LookClean(t)
	return s
}

// end lets the canary say what it felt, and leaves.
func (s *scene) end(t *testing.T, sessions int) {
	t.Helper()
	s.canary.End(t, *canaryP99)
	s.leave(t, sessions)
}

// leave waits until nothing is left of so many sessions, and ends the server. The
// canary has ended.
func (s *scene) leave(t *testing.T, sessions int) {
	t.Helper()
	after := s.Returned(t, s.empty, sessions+sessionsOfCanary)
	t.Logf("server before: %v", s.empty)
	t.Logf("server after:  %v", after)
	s.Stop(t, 5*time.Second)
	t.Logf("%.0f s in all", time.Since(s.began).Seconds())
}

// others says what the server has of clients beyond the canary, or nothing.
func (s *scene) others(f loadproc.Footprint) string { return f.More(s.before) }
