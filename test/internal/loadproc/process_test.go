//go:build linux

package loadproc

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Play(Roles{"echo": Role(echo)})
	os.Exit(m.Run())
}

type echoed struct{ Greeting string }

// echo says how it was started, and then whatever it is told.
func echo(config echoed) error {
	if config.Greeting == "" {
		return errors.New("nobody greets me")
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "a complaint of", os.Getenv("ECHO"))
	fmt.Printf("%s %d\n", config.Greeting, limit.Cur)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fmt.Printf("{%q: %q}\n", "Greeting", lines.Text())
	}
	return lines.Err()
}

// A helper is the test binary in a role, where it was to run, and with what it was
// to know.
func TestHelperPlaysItsRole(t *testing.T) {
	c := Start(t, Place{Files: 64, Env: []string{"ECHO=one"}}, "echo", echoed{"hello"})
	if limit := c.Expect(t, "hello", patience); limit != "64" {
		t.Errorf("it may open %s files, want 64", limit)
	}
	c.Tell(t, "what %d", 1)
	var answer echoed
	if c.Read(t, patience, &answer); answer.Greeting != "what 1" {
		t.Errorf("it echoes %q", answer.Greeting)
	}
	c.CloseInput()
	if err := c.Wait(t, patience); err != nil {
		t.Errorf("it ends with %v", err)
	}
	if said := c.Errors(); !strings.Contains(said, "a complaint of one") {
		t.Errorf("its errors are %q", said)
	}
}

// What went wrong in a helper is its exit code and its words.
func TestHelperThatFailsSaysWhy(t *testing.T) {
	for role, want := range map[string]string{"echo": "nobody greets me", "nobody": `there is no role "nobody"`} {
		c := Start(t, Place{}, role, echoed{})
		var exit *exec.ExitError
		if err := c.Wait(t, patience); !errors.As(err, &exit) || exit.ExitCode() <= 0 {
			t.Errorf("%s ends with %v", role, err)
		}
		if said := c.Errors(); !strings.Contains(said, want) {
			t.Errorf("%s says %q, want %q", role, said, want)
		}
	}
}

// A helper that is stopped goes on where it was; one that is killed does not.
func TestHelperIsStoppedAndKilled(t *testing.T) {
	c := Start(t, Place{}, "echo", echoed{"hello"})
	c.Expect(t, "hello", patience)
	c.Signal(t, syscall.SIGSTOP)
	c.Tell(t, "later")
	select {
	case line := <-c.lines:
		t.Errorf("it says %q while it is stopped", line)
	case <-time.After(50 * time.Millisecond):
	}
	c.Signal(t, syscall.SIGCONT)
	c.Expect(t, `{"Greeting": "later"}`, patience)
	c.Kill()
	var exit *exec.ExitError
	if err := c.Wait(t, patience); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("it ends with %v", err)
	}
}
