package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// screen is where the demo writes. On a terminal the last lines are a block that
// is drawn again in place, and what else is written scrolls by above it. In a
// pipe there are only lines.
type screen struct {
	out      io.Writer
	terminal bool
	width    func() int

	mu sync.Mutex
	// Guarded by mu.
	block []string // what stands there now
}

func newScreen(out io.Writer) *screen {
	s := &screen{out: out, width: func() int { return 80 }}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		s.terminal = true
		s.width = func() int {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
			return 80
		}
	}
	return s
}

// Write writes whole lines above the block, as a logger does.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	block := s.block
	s.erase()
	n, err := s.out.Write(p)
	s.draw(block)
	return n, err
}

// printf writes one line above the block.
func (s *screen) printf(format string, args ...any) {
	fmt.Fprintf(s, format+"\n", args...)
}

// show replaces the block. In a pipe it writes nothing.
func (s *screen) show(lines ...string) {
	if !s.terminal {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.draw(lines)
}

// leave ends the block: it stays, and what comes next goes below it.
func (s *screen) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.block = nil
}

// erase takes the block away: up over its lines, and clear to the end. mu is held.
func (s *screen) erase() {
	if len(s.block) > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\r\x1b[J", len(s.block))
	}
	s.block = nil
}

// draw writes a block. Lines that are too long would wrap, and the next erase
// would miss some. mu is held.
func (s *screen) draw(lines []string) {
	if len(lines) == 0 {
		return
	}
	width := s.width()
	var b strings.Builder
	for _, line := range lines {
		if r := []rune(line); len(r) >= width {
			line = string(r[:width-1])
		}
		b.WriteString(line + "\n")
	}
	io.WriteString(s.out, b.String())
	s.block = lines
}

// progress shows how far something has come, as a bar or as a few lines.
type progress struct {
	screen *screen
	what   string
	total  int
	start  time.Time

	mu sync.Mutex
	// Guarded by mu.
	done, shown int
	drawn       time.Time
}

func (s *screen) progress(what string, total int) *progress {
	return &progress{screen: s, what: what, total: total, start: time.Now()}
}

const barWidth = 30

// set says how much is done. Calls may come in any order.
func (p *progress) set(done int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done <= p.done {
		return
	}
	p.done = done
	now := time.Now()
	switch {
	case p.screen.terminal:
		if done < p.total && now.Sub(p.drawn) < 50*time.Millisecond {
			return
		}
		p.drawn = now
		filled := barWidth * done / p.total
		p.screen.show(fmt.Sprintf("%s [%s%s] %d/%d  %s", p.what, strings.Repeat("█", filled),
			strings.Repeat("░", barWidth-filled), done, p.total, rough(now.Sub(p.start))))
	case 4*done/p.total > p.shown:
		p.shown = 4 * done / p.total
		p.screen.printf("%s: %d of %d after %s", p.what, done, p.total, rough(now.Sub(p.start)))
	}
}
