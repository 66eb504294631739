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
	gone     func() // called when nothing can be written any more; may be nil

	mu sync.Mutex
	// Guarded by mu.
	block []string // what is shown
	rows  int      // that it takes
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
	s.write(string(p))
	s.draw(block)
	return len(p), nil
}

// write writes, and tells when that has become impossible. mu is held.
func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil && s.gone != nil {
		s.gone()
	}
}

// printf writes one line above the block.
func (s *screen) printf(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if s.terminal {
		line = strings.Join(wrap(line, s.width()), "\n")
	}
	s.Write([]byte(line + "\n"))
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
	s.block, s.rows = nil, 0
}

// erase takes the block away: up over its lines, and clear to the end. mu is held.
func (s *screen) erase() {
	if s.rows > 0 {
		s.write(fmt.Sprintf("\x1b[%dA\r\x1b[J", s.rows))
	}
	s.block, s.rows = nil, 0
}

// draw writes a block. Lines that are too long are wrapped here, since the
// terminal would wrap them too, and the next erase would miss some. mu is held.
func (s *screen) draw(lines []string) {
	if len(lines) == 0 {
		return
	}
	width := s.width()
	var rows []string
	for _, line := range lines {
		rows = append(rows, wrap(line, width)...)
	}
	s.write(strings.Join(rows, "\n") + "\n")
	s.block, s.rows = lines, len(rows)
}

// wrap breaks a line into rows that are narrower than width: at spaces, where
// there are any. What follows the first row is indented.
func wrap(line string, width int) []string {
	const indent = "    "
	room := max(width-1, 2*len(indent))
	var rows []string
	rest := []rune(line)
	for len(rest) > room {
		at := room
		for i := room; i > len(indent); i-- {
			if rest[i] == ' ' {
				at = i
				break
			}
		}
		rows = append(rows, strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(indent + strings.TrimLeft(string(rest[at:]), " "))
	}
	return append(rows, string(rest))
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

// The bar takes the room that its line has, between these bounds.
const (
	shortestBar = 10
	longestBar  = 30
)

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
		p.screen.show(p.line(done, rough(now.Sub(p.start)), p.screen.width()))
	case 4*done/p.total > p.shown:
		p.shown = 4 * done / p.total
		p.screen.printf("%s: %d of %d after %s", p.what, done, p.total, rough(now.Sub(p.start)))
	}
}

// line is the bar with what belongs to it.
func (p *progress) line(done int, took string, width int) string {
	counts := fmt.Sprintf("%d/%d  %s", done, p.total, took)
	bar := min(max(width-1-len(p.what)-len(" [] ")-len([]rune(counts)), shortestBar), longestBar)
	filled := bar * done / p.total
	return fmt.Sprintf("%s [%s%s] %s", p.what, strings.Repeat("█", filled), strings.Repeat("░", bar-filled), counts)
}
