package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progress shows how far something has come: one line that is written over on a
// terminal, a line every few seconds in a log, nothing where a program reads
// the result and stderr is no terminal.
type progress struct {
	what  string
	out   io.Writer
	every time.Duration // 0: not at all
	over  bool          // write over the line before
	shown time.Time
}

const (
	terminalRate = 100 * time.Millisecond
	logRate      = 5 * time.Second
)

func newProgress(what string, asJSON bool) *progress {
	p := &progress{what: what, out: os.Stderr, shown: time.Now()}
	switch {
	case term.IsTerminal(int(os.Stderr.Fd())):
		p.every, p.over = terminalRate, true
	case !asJSON:
		p.every = logRate
	}
	return p
}

func (p *progress) show(format string, args ...any) {
	if p.every == 0 || time.Since(p.shown) < p.every {
		return
	}
	p.shown = time.Now()
	text := p.what + ": " + fmt.Sprintf(format, args...)
	if p.over {
		fmt.Fprintf(p.out, "\r\x1b[K%s", text)
	} else {
		fmt.Fprintln(p.out, text)
	}
}

func (p *progress) end() {
	if p.over {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

// watch waits for d, until failed has something, or for the context, and shows
// each second how many there are. It returns what ended the wait early.
func watch(ctx context.Context, d time.Duration, failed <-chan error, bar *progress, what string, count func() int64) error {
	defer bar.end()
	end := time.Now().Add(d)
	last, lastAt := count(), time.Now()
	for {
		rest := time.Until(end)
		if rest <= 0 {
			return nil
		}
		timer := time.NewTimer(min(rest, time.Second))
		select {
		case <-timer.C:
		case err := <-failed:
			timer.Stop()
			return err
		case <-ctx.Done():
			timer.Stop()
			return errInterrupted
		}
		now, n := time.Now(), count()
		bar.show("%d %s, %.0f/s, %v left", n, what, float64(n-last)/now.Sub(lastAt).Seconds(),
			max(0, time.Until(end)).Round(time.Second))
		last, lastAt = n, now
	}
}
