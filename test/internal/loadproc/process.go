//go:build linux

package loadproc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Build makes the program that serves and loads, and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "uaload")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/uahive/uahive/cmd/uaload").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// Place says where a process runs.
type Place struct {
	// Netns is the name of the network namespace, as "ip netns" knows it.
	// Default: that of the test.
	Netns string
	// Files is how many descriptors the process may have open. Default: as many
	// as the test.
	Files int
	// Env is added to the environment, in the form NAME=value.
	Env []string
}

// command makes the command that runs a program in that place. The process that
// it starts is the program itself, whatever helped it there.
func (p Place) command(program string, args ...string) *exec.Cmd {
	line := append([]string{program}, args...)
	if p.Netns != "" {
		line = append([]string{"ip", "netns", "exec", p.Netns}, line...)
	}
	if p.Files > 0 {
		line = append([]string{"/bin/sh", "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(p.Files)}, line...)
	}
	c := exec.Command(line[0], line[1:]...)
	c.Env = append(os.Environ(), p.Env...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c
}

// Child is a process that a test has started. It is killed when the test ends.
type Child struct {
	name  string
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it prints; closed when it has ended
	ended chan struct{}
	err   error // once ended is closed

	mu    sync.Mutex
	tail  []string // of its standard error
	watch map[string]chan string
}

// tailLines of the standard error are shown when something went wrong.
const tailLines = 20

// start runs a command and collects what it says.
func start(t testing.TB, name string, c *exec.Cmd) *Child {
	t.Helper()
	child := &Child{name: name, cmd: c, lines: make(chan string, 1024), ended: make(chan struct{}), watch: make(map[string]chan string)}
	var err error
	if child.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	var readers sync.WaitGroup
	readers.Go(func() { scan(out, func(line string) { child.lines <- line }) })
	readers.Go(func() { scan(wrong, child.complaint) })
	go func() { // ends with the process
		readers.Wait()
		child.err = c.Wait()
		close(child.lines)
		close(child.ended)
	}()
	t.Cleanup(func() {
		child.Kill()
		for range child.lines { // lets the reader go on to the end
		}
		<-child.ended
	})
	return child
}

func scan(from io.Reader, take func(string)) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		take(lines.Text())
	}
	_, _ = io.Copy(io.Discard, from) // a line that is longer than any of ours
}

// complaint keeps a line of the standard error.
func (c *Child) complaint(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tail = append(c.tail, line); len(c.tail) > tailLines {
		c.tail = c.tail[1:]
	}
	for pattern, found := range c.watch {
		if strings.Contains(line, pattern) {
			select {
			case found <- line:
			default:
			}
		}
	}
}

// onError has the first line of the standard error with these words sent to a
// channel, one that was printed before included.
func (c *Child) onError(words string) <-chan string {
	found := make(chan string, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watch[words] = found
	for _, line := range c.tail {
		if strings.Contains(line, words) {
			found <- line
			break
		}
	}
	return found
}

// Errors returns the end of what the process wrote to its standard error.
func (c *Child) Errors() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.tail, "\n")
}

// PID is the process id.
func (c *Child) PID() int { return c.cmd.Process.Pid }

// Line returns the next line that the process prints, and fails the test when
// none comes in time.
func (c *Child) Line(t testing.TB, patience time.Duration) string {
	t.Helper()
	select {
	case line, ok := <-c.lines:
		if !ok {
			<-c.ended
			t.Fatalf("%s has ended with %v: %s", c.name, c.err, c.Errors())
		}
		return line
	case <-time.After(patience):
		t.Fatalf("%s says nothing in %v: %s", c.name, patience, c.Errors())
	}
	return ""
}

// Expect reads lines until one begins with these words, and returns what stands
// behind them.
func (c *Child) Expect(t testing.TB, words string, patience time.Duration) string {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		line := c.Line(t, time.Until(end))
		if rest, ok := strings.CutPrefix(line, words); ok {
			return strings.TrimSpace(rest)
		}
	}
}

// Read decodes the next line, which is in JSON.
func (c *Child) Read(t testing.TB, patience time.Duration, v any) {
	t.Helper()
	line := c.Line(t, patience)
	if err := json.Unmarshal([]byte(line), v); err != nil {
		t.Fatalf("%s says %q: %v", c.name, line, err)
	}
}

// Tell writes a line to the standard input of the process.
func (c *Child) Tell(t testing.TB, format string, args ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", args...); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

// CloseInput ends the standard input of the process.
func (c *Child) CloseInput() { _ = c.in.Close() }

// Signal sends a signal to the process.
func (c *Child) Signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := c.cmd.Process.Signal(s); err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
}

// Kill ends the process at once; it does nothing to one that has ended. The
// system closes its sockets, as it does for any process that dies.
func (c *Child) Kill() { _ = c.cmd.Process.Kill() }

// Wait waits until the process has ended, and returns with what. What it still
// printed is dropped.
func (c *Child) Wait(t testing.TB, patience time.Duration) error {
	t.Helper()
	late := time.After(patience)
	for {
		select {
		case _, ok := <-c.lines:
			if ok {
				continue
			}
			<-c.ended
			return c.err
		case <-late:
			t.Fatalf("%s does not end in %v: %s", c.name, patience, c.Errors())
		}
	}
}
