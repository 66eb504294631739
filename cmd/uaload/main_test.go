package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// A script must see that it called for nothing, and help is no failure.
func TestExitCodeTellsWhatWasWrong(t *testing.T) {
	for _, c := range []struct {
		args string
		want int
	}{
		{"", 2},
		{"nonsense", 2},
		{"help", 0},
		{"-help", 0},
		{"--help", 0},
		{"-h", 0},
		{"read -help", 0},
		{"serve -h", 0},
		{"read -nonsense", 1},
		{"sessions -sessions 0", 1},
	} {
		if got := exitCode(run(context.Background(), strings.Fields(c.args), io.Discard), io.Discard); got != c.want {
			t.Errorf("uaload %s: exit code %d, want %d", c.args, got, c.want)
		}
	}
	if exitCode(flag.ErrHelp, io.Discard) != 0 || exitCode(io.EOF, io.Discard) != 1 {
		t.Error("other errors")
	}
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) // ants keeps two goroutines of its own
}

// What a server kept of earlier sessions is no property of these.
func TestMemoryPerSessionNeedsAFreshServer(t *testing.T) {
	for _, c := range []struct {
		name          string
		before, after int64
		earlier       int64
		want          float64
	}{
		{"fresh", 100_000, 200_000, 0, 1000},
		{"fresh but for a probe", 100_000, 200_000, 2, 1000},
		{"not known", 100_000, 200_000, -1, 1000},
		{"used", 100_000, 200_000, 100, 0},
		{"shrunk", 200_000, 100_000, -1, 0},
	} {
		r := sessionsResult{Sessions: 100, Established: 100, RSSBefore: c.before, RSSAfter: c.after}
		r.compareMemory(c.earlier)
		if r.RSSPerSession != c.want || (r.Note == "") != (c.want > 0) {
			t.Errorf("%s: %+v", c.name, r)
		}
		var text, encoded bytes.Buffer
		if err := r.print(&text, false, true); err != nil {
			t.Error(err)
		}
		if err := r.print(&encoded, true, true); err != nil || !json.Valid(encoded.Bytes()) {
			t.Errorf("%s %v", encoded.String(), err)
		}
		if strings.Contains(text.String(), "per session,") != (c.want > 0) || strings.Contains(text.String(), " -") {
			t.Errorf("%s:\n%s", c.name, text.String())
		}
		if strings.Contains(encoded.String(), "restart") != (c.want == 0) {
			t.Errorf("%s: %s", c.name, encoded.String())
		}
	}
}
