//go:build linux

package loadproc

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ServerConfig says how a server is started. The zero value is a server on any
// port of this machine that offers None and Basic256Sha256 with SignAndEncrypt.
type ServerConfig struct {
	Place
	// Program is what serves. Default: [Build].
	Program string
	// Endpoint is where it listens. Default "opc.tcp://127.0.0.1:0".
	Endpoint string
	// Page is where it tells its counters. Default "127.0.0.1:0"; in a network
	// namespace of its own an address that the test can reach.
	Page string
	// Sessions is the largest number of sessions. Default 10,100.
	Sessions int
	// Args are further flags of "uaload serve".
	Args []string
}

// Server is "uaload serve" in a process of its own.
type Server struct {
	*Child
	Program  string
	Endpoint string
	Page     string // URL of its counters
}

// patience is for what takes a moment.
const patience = 30 * time.Second

// filesBeside are what a process has open beside its connections.
const filesBeside = 100

// Serve starts a server, which ends with the test.
func Serve(t testing.TB, config ServerConfig) *Server {
	t.Helper()
	if config.Program == "" {
		config.Program = Build(t)
	}
	if config.Endpoint == "" {
		config.Endpoint = "opc.tcp://127.0.0.1:0"
	}
	if config.Page == "" {
		config.Page = "127.0.0.1:0"
	}
	args := []string{"serve", "-endpoint", config.Endpoint, "-pprof", config.Page, "-array-sizes", "none"}
	if config.Sessions > 0 {
		if config.Files == 0 {
			needFiles(t, config.Sessions)
		}
		args = append(args, "-max-sessions", strconv.Itoa(config.Sessions))
	}
	s := &Server{Program: config.Program}
	s.Child = start(t, "the server", config.command(config.Program, append(args, config.Args...)...))
	counters := s.onError("counters at ")
	s.Endpoint, _, _ = strings.Cut(s.Expect(t, "ready ", patience), " ")
	select {
	case line := <-counters:
		_, s.Page, _ = strings.Cut(line, "counters at ")
	case <-time.After(patience):
		t.Fatalf("the server does not say where its counters are: %s", s.Errors())
	}
	return s
}

// needFiles ends the test where a process cannot have so many connections.
func needFiles(t testing.TB, connections int) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < uint64(connections+filesBeside) {
		t.Fatalf("a process needs %d files open, and may have %d: raise the limit with \"ulimit -n\"", connections+filesBeside, limit.Max)
	}
}

// Load runs "uaload" with a load, told where the server is and which process, and
// returns what it prints in JSON. What it finds wrong fails the test.
func (s *Server) Load(t testing.TB, load string, args ...string) []byte {
	t.Helper()
	args = append([]string{load, "-endpoint", s.Endpoint, "-pid", strconv.Itoa(s.PID()), "-json"}, args...)
	c := exec.Command(s.Program, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var out, wrong bytes.Buffer
	c.Stdout, c.Stderr = &out, io.MultiWriter(&wrong, os.Stderr)
	if err := c.Run(); err != nil {
		t.Errorf("uaload %s: %v\n%s%s", strings.Join(args, " "), err, wrong.String(), out.String())
	}
	return out.Bytes()
}

// Stop asks the server to end, which may take so long, and returns how long it
// took.
func (s *Server) Stop(t testing.TB, within time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	s.Signal(t, syscall.SIGTERM)
	err := s.Wait(t, within+patience)
	took := time.Since(began)
	if err != nil {
		t.Errorf("the server ends with %v: %s", err, s.Errors())
	}
	if took > within {
		t.Errorf("the server took %v to end, and should end within %v", took, within)
	}
	return took
}
