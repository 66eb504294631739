package publishloop

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var rewrite = flag.Bool("rewrite", false, "write what the scenario scripts in testdata print back into them")

// machine drives Step as a subscription does, with counters in place of queues.
type machine struct {
	s         State
	tickets   int
	notes     int
	published bool // a Publish request came in since the last tick
	out       strings.Builder
}

// step gives one event to Step and carries out what it asks for, taking tickets
// as long as the subscription wants them.
func (m *machine) step(kind Kind, fill func(*Event)) {
	ev := Event{Kind: kind, Available: m.notes > 0, Client: m.published || m.tickets > 0}
	if fill != nil {
		fill(&ev)
	}
	if kind == Tick {
		m.published = false
	}
	if m.s.Wants(ev) && m.tickets > 0 {
		m.tickets--
		ev.Ticket = true
	}
	m.act(Step(&m.s, ev))
	for m.s.Awaits() && m.tickets > 0 {
		m.tickets--
		m.act(Step(&m.s, Event{Kind: PublishArrived, Available: m.notes > 0, Ticket: true, Client: true}))
	}
}

func (m *machine) act(a Action) {
	if a&ReturnNotifications != 0 {
		n := m.notes
		if limit := int(m.s.MaxNotificationsPerUpdate); limit > 0 && n > limit {
			n = limit
		}
		m.notes -= n
		m.s.MoreNotifications = m.notes > 0
		fmt.Fprintf(&m.out, "notifications: seq=%d count=%d more=%v\n", m.s.TakeSeqNum(), n, m.s.MoreNotifications)
	}
	if a&ReturnKeepAlive != 0 {
		fmt.Fprintf(&m.out, "keep-alive: seq=%d\n", m.s.SeqNum)
	}
	if a&AwaitTicket != 0 {
		m.out.WriteString("awaits a ticket\n")
	}
	if a&IssueTimeout != 0 {
		m.out.WriteString("status change: BadTimeout\n")
	}
	if a&Release != 0 {
		m.out.WriteString("released\n")
	}
}

// run executes one command line of a script and returns what it printed.
func (m *machine) run(t *testing.T, line string) string {
	t.Helper()
	m.out.Reset()
	words := strings.Fields(line)
	arg := func(name string, otherwise uint32) uint32 {
		for _, w := range words[1:] {
			if v, ok := strings.CutPrefix(w, name+"="); ok {
				n, err := strconv.ParseUint(v, 10, 32)
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				return uint32(n)
			}
		}
		return otherwise
	}
	count := func() int {
		if len(words) < 2 {
			return 1
		}
		n, err := strconv.Atoi(words[1])
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return n
	}
	switch words[0] {
	case "create":
		*m = machine{s: Create(arg("enabled", 1) == 1, arg("lifetime", 30), arg("keepalive", 10), arg("max", 0))}
		m.s.SeqNum = arg("seq", 1)
	case "tick":
		for range count() {
			m.step(Tick, nil)
		}
	case "publish":
		for range count() {
			m.tickets++
			m.published = true
			if m.s.Awaits() {
				m.step(PublishArrived, nil)
			}
		}
	case "change":
		m.notes += count()
	case "activity":
		m.step(Activity, nil)
	case "modify":
		m.step(Modified, func(ev *Event) {
			ev.LifetimeCount, ev.MaxKeepAliveCount = arg("lifetime", 30), arg("keepalive", 10)
			ev.MaxNotifications = arg("max", 0)
		})
	case "publishing":
		m.step(PublishingModeSet, func(ev *Event) { ev.Enabled = words[1] == "on" })
	case "delete":
		m.step(Deleted, nil)
	default:
		t.Fatalf("unknown command %q", line)
	}
	fmt.Fprintf(&m.out, "%s keepalive=%d lifetime=%d tickets=%d waiting=%d\n",
		m.s.Phase, m.s.KeepAliveCounter, m.s.LifetimeCounter, m.tickets, m.notes)
	return m.out.String()
}

// TestScenarios runs the scripts in testdata: commands, and below each the
// output that is expected, up to the next blank line.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts in testdata: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(text) {
				t.Errorf("%s prints\n%s\nand not\n%s", file, got, text)
			}
		})
	}
}

// play returns the script with the output of the machine in place of its own.
func play(t *testing.T, script string) string {
	var m machine
	var out strings.Builder
	inOutput := false
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "":
			if !inOutput {
				out.WriteString("\n")
			}
			inOutput = false
		case inOutput:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			out.WriteString("> " + strings.TrimPrefix(line, "> ") + "\n" + m.run(t, strings.TrimPrefix(line, "> ")) + "\n")
			inOutput = true
		}
	}
	return out.String()
}

// TestModel runs random histories against what Part 4, 5.14.1 promises a client.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keepAlive := rapid.Uint32Range(1, 6).Draw(t, "keepalive")
		lifetime := keepAlive*3 + rapid.Uint32Range(0, 5).Draw(t, "lifetime")
		m := machine{s: Create(rapid.Bool().Draw(t, "enabled"), lifetime, keepAlive, rapid.Uint32Range(0, 3).Draw(t, "max"))}
		silent, absent := uint32(0), uint32(0) // cycles since the last message, and without the client
		nextSeq := uint32(1)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			before := m.s
			m.out.Reset()
			switch op := rapid.SampledFrom([]string{"tick", "tick", "tick", "publish", "change", "activity", "publishing"}).Draw(t, "op"); op {
			case "tick":
				client := m.tickets > 0 || m.published
				if client {
					absent = 0
				} else {
					absent++
				}
				had := m.tickets
				m.step(Tick, nil)
				silent++
				if strings.Contains(m.out.String(), "seq=") {
					silent = 0
				}
				if had > 0 && silent >= keepAlive && m.s.Phase != Closed {
					t.Fatalf("silent for %d cycles with a ticket and keep-alive count %d", silent, keepAlive)
				}
				if (absent >= before.LifetimeCount) != (m.s.Phase == Closed) {
					t.Fatalf("absent for %d of %d cycles and %v", absent, before.LifetimeCount, m.s.Phase)
				}
				if had == 0 && m.s.Phase != Closed && before.PublishingEnabled && m.notes > 0 && m.s.Phase != Late {
					t.Fatalf("notifications, no ticket, and %v", m.s.Phase)
				}
			case "publish":
				m.tickets++
				m.published = true
				if m.s.Awaits() {
					m.step(PublishArrived, nil)
					absent = 0
					if m.s.Phase == Late {
						t.Fatal("late in spite of a ticket")
					}
				}
				if strings.Contains(m.out.String(), "seq=") {
					silent = 0
				}
			case "change":
				m.notes += rapid.IntRange(1, 5).Draw(t, "n")
			case "activity":
				m.step(Activity, nil)
				absent = 0
			case "publishing":
				m.step(PublishingModeSet, func(ev *Event) { ev.Enabled = rapid.Bool().Draw(t, "on") })
				absent = 0
			}
			for line := range strings.Lines(m.out.String()) {
				var seq uint32
				if n, _ := fmt.Sscanf(line, "notifications: seq=%d", &seq); n == 1 {
					if seq != nextSeq {
						t.Fatalf("sequence number %d and not %d", seq, nextSeq)
					}
					if !m.s.PublishingEnabled {
						t.Fatal("notifications while publishing is disabled")
					}
					nextSeq++
				} else if n, _ := fmt.Sscanf(line, "keep-alive: seq=%d", &seq); n == 1 && seq != nextSeq {
					t.Fatalf("keep-alive names %d and not %d", seq, nextSeq)
				}
			}
			if m.s.Phase == Closed {
				return
			}
		}
	})
}
