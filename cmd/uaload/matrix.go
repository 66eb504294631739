package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

// matrix runs the cells of a matrix against one server, one after the other. The
// sessions stay from cell to cell, since establishing a secure one costs more
// than all that it does in a cell.
type matrix struct {
	*matrixFlags
	file    *matrixFile
	config  client.Config
	writer  *client.Client // the session that writes, and asks the server
	crowd   crowd
	crew    crew
	summary summary
	before  holding // what the server has of others
}

// runMatrix measures what a server can do, and where it ends: for every number of
// sessions, subscriptions, items, and every interval of the lists.
func runMatrix(ctx context.Context, c *command, args []string, out io.Writer) error {
	f := new(matrixFlags)
	if err := f.parse(c, args); err != nil {
		return err
	}
	file, err := openMatrix(f.csv)
	if err != nil {
		return err
	}
	left := file.left(f.cells)
	if f.listing {
		for _, c := range left {
			fmt.Fprintln(out, c)
		}
		return nil
	}
	m := &matrix{matrixFlags: f, file: file}
	if len(left) > 0 {
		err = m.run(ctx, left)
	}
	return errors.Join(err, m.publish(out))
}

// publish writes the table of all cells.
func (m *matrix) publish(out io.Writer) (err error) {
	if m.table == "" {
		return m.file.print(out, m.json)
	}
	file, err := os.Create(m.table)
	if err != nil {
		return wrong("table", m.table, "write the name of a file that can be made (%v)", err)
	}
	return errors.Join(m.file.print(file, m.json), file.Close())
}

// run runs cells until all have been run, or the time is over.
func (m *matrix) run(ctx context.Context, cells []cell) (err error) {
	if m.config, err = m.discover(ctx, m.crowd.configure(m.inflight)); err != nil {
		return err
	}
	defer func() {
		m.crowd.leaving.Store(true)
		closeAll(append(m.crowd.clients(), m.writer))
	}()
	begun := time.Now()
	for i, c := range cells {
		if m.time > 0 && time.Since(begun) >= m.time {
			fmt.Fprintf(os.Stderr, "uaload: the time is over, %d cells are left; run again to go on\n", len(cells)-i)
			return nil
		}
		if err := m.gather(ctx, c.sessions); err != nil {
			return err
		}
		r, err := m.measure(ctx, c)
		if err != nil {
			return err
		}
		r.judge(m.late)
		if err := m.file.add(r); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "cell %d of %d: %v: %s\n", i+1, len(cells), c, r.brief())
	}
	return nil
}

// brief is what the line about a cell says.
func (r *row) brief() string {
	text := r.verdict
	if r.why != "" {
		text += " (" + r.why + ")"
	}
	return fmt.Sprintf("%s, %s of %s notifications/s, server %s %% of a core, p99 %s ms",
		text, places(r.received, 0), places(r.asked(), 0), places(r.cpu, 0), places(r.p99, 0))
}

// gather sees to it that there are n sessions, and one that writes.
func (m *matrix) gather(ctx context.Context, n int) error {
	if err := m.meet(ctx); err != nil {
		return err
	}
	if _, lost := m.crowd.forget(); lost > 0 {
		m.crowd.leave(0) // nobody knows which of them
	}
	if m.crowd.size() >= n {
		m.crowd.leave(n)
		m.crew.established = n
		return nil
	}
	had := m.crowd.size()
	memory := m.resident(ctx)
	if err := m.crowd.grow(ctx, &m.target, m.config, n-had, m.connecting); err != nil {
		return err
	}
	m.crew = crew{established: m.crowd.size(), perSecond: m.crowd.rate(), rssEach: unknown}
	if joined := m.crew.established - had; joined >= fewSessions {
		m.crew.rssEach = share(m.resident(ctx)-memory, joined)
	}
	return nil
}

// fewSessions and fewItems are too few to tell their memory from the noise.
const (
	fewSessions = 100
	fewItems    = 1000
)

// share is what each of n has of a growth. A server that has served others
// before uses memory of theirs: what did not grow is not known.
func share(growth float64, n int) float64 {
	if !(growth > 0) {
		return unknown
	}
	return growth / float64(n)
}

// meet connects the session that writes, where there is none that answers, and
// has it look at the server.
func (m *matrix) meet(ctx context.Context) error {
	if m.writer != nil {
		if _, err := m.writer.ReadValue(ctx, ua.NumericID(0, id.Server_ServerStatus_State)); err == nil {
			return nil
		}
		closeAll([]*client.Client{m.writer})
		m.writer = nil
	}
	c, err := client.Connect(ctx, m.endpoint, m.config)
	if err != nil {
		return fmt.Errorf("the session that writes cannot connect: %w", err)
	}
	m.writer, m.summary.client = c, c
	last := m.at(m.count - 1)
	if _, err := c.ReadValue(ctx, last); err != nil {
		return fmt.Errorf("%d variables are needed, from %v on, and %v cannot be read: %w; name others with -node, or serve them with \"uaload serve -nodes %d\"",
			m.count, m.first, last, err, m.count)
	}
	if m.before, err = m.holding(ctx); err != nil {
		return err
	}
	if m.before.sessions >= 0 {
		m.before.sessions -= int64(m.crowd.size())
	}
	return nil
}

// resident is the memory of the server in bytes; NaN if it is not known. Where
// the server's page is, it is without garbage.
func (m *matrix) resident(ctx context.Context) float64 {
	if m.pid == 0 {
		return unknown
	}
	if m.page != "" {
		_, _ = look(ctx, m.page+"?gc") // where it fails, garbage is counted
	}
	rss, err := process(m.pid).rss()
	if err != nil {
		return unknown
	}
	return math.Max(float64(rss), 0)
}
