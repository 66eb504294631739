//go:build soak

package soak

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// server is "uaload serve" in a process of its own.
type server struct {
	process  *exec.Cmd
	endpoint string
	page     string // URL of its counters
	ended    chan error
}

// build makes the program that is server and load.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "uaload")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/uahive/uahive/cmd/uaload").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// filesBeside are what a process has open beside its connections.
const filesBeside = 100

// serve starts a server for so many sessions and one that writes. It ends with
// the test.
func serve(t *testing.T, program string, sessions int) *server {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < uint64(sessions+filesBeside) {
		t.Fatalf("each of the two processes needs %d files open, and may have %d: raise the limit with \"ulimit -n\"", sessions+filesBeside, limit.Max)
	}
	s := &server{ended: make(chan error, 1)}
	s.process = exec.Command(program, "serve", "-endpoint", "opc.tcp://127.0.0.1:0", "-pprof", "127.0.0.1:0",
		"-array-sizes", "none", "-max-sessions", strconv.Itoa(sessions+1))
	said, err := s.process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	errors, err := s.process.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if s.process != nil {
			_ = s.process.Process.Kill()
		}
	})
	s.page = find(t, errors, `counters at (http://\S+)`)
	s.endpoint = find(t, said, `^ready (opc\.tcp://\S+)`)
	go func() { s.ended <- s.process.Wait() }() // ends with the process
	return s
}

// find reads lines until one matches, and has the rest shown.
func find(t *testing.T, from io.Reader, pattern string) string {
	t.Helper()
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if found := regexp.MustCompile(pattern).FindStringSubmatch(line); found != nil {
			go func() { _, _ = io.Copy(os.Stderr, lines) }() // ends with the process
			return found[1]
		}
		if err != nil {
			t.Fatalf("the server does not say %s: %v", pattern, err)
		}
		fmt.Fprint(os.Stderr, line)
	}
}

// load runs "uaload sessions" and returns what it prints. What it finds wrong
// fails the test.
func (s *server) load(t *testing.T, program, security string, args ...string) []byte {
	t.Helper()
	c := exec.Command(program, append([]string{
		"sessions", "-endpoint", s.endpoint, "-security", security,
		"-pid", strconv.Itoa(s.process.Process.Pid), "-json",
	}, args...)...)
	var out, wrong bytes.Buffer
	c.Stdout, c.Stderr = &out, io.MultiWriter(&wrong, os.Stderr)
	if err := c.Run(); err != nil {
		t.Errorf("uaload %s: %v\n%s%s", strings.Join(c.Args[1:], " "), err, wrong.String(), out.String())
	}
	return out.Bytes()
}

// stop asks the server to end, which may not take long.
func (s *server) stop(t *testing.T) {
	t.Helper()
	if err := s.process.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-s.ended:
		s.process = nil
		if err != nil {
			t.Errorf("the server ends with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the server does not end")
	}
}
