//go:build storm

package storm

import (
	"bufio"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// server is "uaload serve" in a process of its own.
type server struct {
	process  *exec.Cmd
	endpoint string
	page     string // URL of its counters
}

func serve(t *testing.T, sessions int) *server {
	t.Helper()
	program := filepath.Join(t.TempDir(), "uaload")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/uahive/uahive/cmd/uaload").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &server{process: exec.Command(program, "serve", "-endpoint", "opc.tcp://127.0.0.1:0", "-pprof", "127.0.0.1:0",
		"-array-sizes", "none", "-max-sessions", strconv.Itoa(sessions))}
	said, _ := s.process.StdoutPipe()
	warned, _ := s.process.StderrPipe()
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.process.Process.Kill() })
	s.page = find(t, warned, `counters at (http://\S+)`)
	s.endpoint = find(t, said, `^ready (opc\.tcp://\S+)`)
	return s
}

// find reads lines until one matches, and leaves the rest unread by anybody.
func find(t *testing.T, from io.Reader, pattern string) string {
	t.Helper()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if found := regexp.MustCompile(pattern).FindStringSubmatch(line); found != nil {
			go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
			return found[1]
		}
		if err != nil {
			t.Fatalf("the server does not say %s: %v", pattern, err)
		}
	}
}

// stop asks the server to end, which may not take long.
func (s *server) stop(t *testing.T) {
	t.Helper()
	start := time.Now()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = s.process.Wait()
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("the server took %v to end", d)
	}
}
