package fuzzguard

import (
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"
	"time"
)

var (
	sink  []byte
	depth int
)

// victims are inputs that cost too much, run in a process of their own.
var victims = map[string]struct {
	bounds Bounds
	fuzz   func(t *testing.T, b []byte)
	want   string
}{
	"memory": {Bounds{Bytes: 10, Base: 1000}, func(_ *testing.T, b []byte) { sink = make([]byte, 1<<20) }, "bytes allocated for an input of 5 bytes, at most 1050"},
	"time": {Bounds{Time: 20 * time.Millisecond}, func(*testing.T, []byte) {
		for start := cpuTime(); cpuTime()-start < 50*time.Millisecond; {
		}
	}, "of processor time for an input of 5 bytes, at most 20ms"},
	"hang":  {Bounds{Hang: 100 * time.Millisecond}, func(*testing.T, []byte) { time.Sleep(time.Hour) }, "has not ended after 100ms"},
	"stack": {Bounds{}, func(*testing.T, []byte) { depth = deep(1 << 20) }, "stack exceeds 1048576-byte limit"},
	"fatal": {Bounds{Base: 1}, func(t *testing.T, _ []byte) { t.Fatal("its own word") }, "its own word"},
	"none":  {Bounds{}, func(*testing.T, []byte) {}, "PASS"},
}

func deep(n int) int {
	if n == 0 {
		return 0
	}
	return deep(n-1) + 1
}

func TestGuard(t *testing.T) {
	for name, v := range victims {
		if name == "memory" && !countsMemory {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.v")
			cmd.Env = append(os.Environ(), "FUZZGUARD_VICTIM="+name)
			out, err := cmd.CombinedOutput()
			if (err == nil) != (name == "none") || !strings.Contains(string(out), v.want) {
				t.Errorf("%v:\n%s", err, out)
			}
			if name == "fatal" && strings.Contains(string(out), "are allowed") {
				t.Errorf("more than the target's own word:\n%s", out)
			}
		})
	}
}

// TestVictim is what TestGuard runs.
func TestVictim(t *testing.T) {
	v, ok := victims[os.Getenv("FUZZGUARD_VICTIM")]
	if !ok {
		return // not asked for
	}
	Guard(t, v.bounds, v.fuzz)(t, []byte("input"))
}

func TestTheStackIsGivenBack(t *testing.T) {
	old := debug.SetMaxStack(1 << 30)
	defer debug.SetMaxStack(old)
	t.Run("guarded", func(t *testing.T) { Guard(t, Bounds{Stack: 1 << 19}, func(*testing.T) {}) })
	if got := debug.SetMaxStack(1 << 30); got != 1<<30 {
		t.Errorf("%d", got)
	}
}
