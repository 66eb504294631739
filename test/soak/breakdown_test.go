//go:build soak

package soak

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/test/internal/loadproc"
)

// breakdown is what a server's memory was made of while all sessions were there.
type breakdown struct {
	packages map[string]int64 // bytes in use, by the package that asked for them
	runtime  map[string]int64 // of runtime.MemStats
	err      error
}

// takeApart looks at the server in the middle of the time in which values are
// written, when all sessions have subscribed. The profile stays in a file.
func takeApart(s *loadproc.Server, n int, duration time.Duration, file string, over <-chan struct{}) (b breakdown) {
	for all := false; !all; {
		select {
		case <-over:
			b.err = fmt.Errorf("the load was over before %d sessions had subscribed", n)
			return b
		case <-time.After(500 * time.Millisecond):
		}
		text, err := fetch(s.Page)
		if err != nil {
			continue // the server may be busy
		}
		all = strings.Contains(text, fmt.Sprintf(`"subscriptions":%d,`, n))
	}
	select {
	case <-over:
		b.err = fmt.Errorf("the load was over at once")
		return b
	case <-time.After(duration / 2):
	}
	profiles := strings.TrimSuffix(s.Page, "/stats") + "/debug/pprof/heap"
	raw, err := fetch(profiles)
	if err != nil {
		return breakdown{err: err}
	}
	if err := os.WriteFile(file, []byte(raw), 0o644); err != nil {
		return breakdown{err: err}
	}
	text, err := fetch(profiles + "?debug=1")
	if err != nil {
		return breakdown{err: err}
	}
	b.runtime = memStats(text)
	b.packages, b.err = byPackage(s.Program, file)
	return b
}

func fetch(url string) (string, error) {
	c := http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

var memStat = regexp.MustCompile(`(?m)^# (\w+) = (\d+)(?: / (\d+))?$`)

// memStats reads the numbers behind a heap profile in text. Of those in two parts
// the first is what is in use, and the second what the system gave.
func memStats(text string) map[string]int64 {
	stats := make(map[string]int64)
	for _, m := range memStat.FindAllStringSubmatch(text, -1) {
		stats[m[1]], _ = strconv.ParseInt(m[2], 10, 64)
		if m[3] != "" {
			stats[m[1]+"Sys"], _ = strconv.ParseInt(m[3], 10, 64)
		}
	}
	return stats
}

// byPackage has the profile added up.
func byPackage(program, file string) (map[string]int64, error) {
	out, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount=1000000", "-nodefraction=0", "-sample_index=inuse_space", "-unit=b", program, file).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	sums := make(map[string]int64)
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || !strings.HasSuffix(fields[0], "B") {
			continue
		}
		if bytes, err := strconv.ParseFloat(strings.TrimSuffix(fields[0], "B"), 64); err == nil && bytes > 0 {
			sums[packageOf(fields[5])] += int64(bytes)
		}
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("go tool pprof says nothing of the heap: %s", out)
	}
	return sums, nil
}

// packageOf is the package of a function's name.
func packageOf(function string) string {
	slash := strings.LastIndex(function, "/") + 1
	if dot := strings.Index(function[slash:], "."); dot >= 0 {
		return function[:slash+dot]
	}
	return function
}

// table says what each session holds, in bytes, and what all hold together. The
// heap is that of a sampled profile; what is garbage there, or free, is room that
// the collector leaves.
func (b breakdown) table(n int, perSession float64) string {
	var t strings.Builder
	line := func(name string, bytes int64) {
		fmt.Fprintf(&t, "  %-52s %12d %10d\n", name, bytes, bytes/int64(n))
	}
	m := b.runtime
	fmt.Fprintf(&t, "memory of the server with %d sessions; it grew by %.0f bytes resident for each\n", n, perSession)
	fmt.Fprintf(&t, "  %-52s %12s %10s\n", "", "bytes", "a session")
	line("heap: objects, garbage that is not collected yet too", m["HeapAlloc"])
	line("heap: spans in use", m["HeapInuse"])
	line("heap: idle, not given back", m["HeapIdle"]-m["HeapReleased"])
	line("stacks", m["Stack"])
	line("runtime: spans, caches, collector, profile, other", m["MSpanSys"]+m["MCacheSys"]+m["BuckHashSys"]+m["GCSys"]+m["OtherSys"])
	line("all that the system gave, without what was given back", m["Sys"]-m["HeapReleased"])
	names := make([]string, 0, len(b.packages))
	for name := range b.packages {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, c string) int { return int(b.packages[c] - b.packages[a]) })
	fmt.Fprintln(&t, "live heap by package, sampled")
	for _, name := range names {
		line(name, b.packages[name])
	}
	return t.String()
}

// A profile in text is understood, and functions belong to their packages.
func TestProfilesAreRead(t *testing.T) {
	m := memStats("# runtime.MemStats\n# Alloc = 12\n# Stack = 34 / 56\n# MSpan = 7 / 8\n# Sys = 99\n# PauseNs = [1 2]\n")
	for name, want := range map[string]int64{"Alloc": 12, "Stack": 34, "StackSys": 56, "MSpanSys": 8, "Sys": 99, "PauseNs": 0} {
		if m[name] != want {
			t.Errorf("%s is %d, want %d", name, m[name], want)
		}
	}
	for name, want := range map[string]string{
		"github.com/uahive/uahive/codec/uasc.(*Opener).Install": "github.com/uahive/uahive/codec/uasc", "runtime.malg": "runtime",
	} {
		if got := packageOf(name); got != want {
			t.Errorf("%s belongs to %s", name, got)
		}
	}
}
