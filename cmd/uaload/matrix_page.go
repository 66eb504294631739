package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/uahive/uahive/codec/ua/id"
)

// holding is what a server has of its clients; -1 where nobody knows.
type holding struct {
	sessions, subscriptions, items int64
}

// holding asks the server what it has: on its page, or else in its diagnostics,
// which do not tell of items.
func (m *matrix) holding(ctx context.Context) (holding, error) {
	if m.page == "" {
		return holding{
			sessions:      m.summary.read(ctx),
			subscriptions: m.summary.counter(ctx, id.Server_ServerDiagnostics_ServerDiagnosticsSummary_CurrentSubscriptionCount),
			items:         -1,
		}, nil
	}
	f, err := look(ctx, m.page)
	if err != nil {
		return holding{}, wrong("page", m.page, "write the URL that \"uaload serve -pprof\" names, or none (%v)", err)
	}
	return holding{int64(f.Sessions), int64(f.Subscriptions), int64(f.MonitoredItems)}, nil
}

// beyond says what a server has more than it had, and nil if that is nothing.
func (h holding) beyond(before holding) error {
	for _, c := range []struct {
		now, then int64
		what      string
	}{
		{h.items, before.items, "items"},
		{h.subscriptions, before.subscriptions, "subscriptions"},
		{h.sessions, before.sessions, "sessions"},
	} {
		if c.now >= 0 && c.then >= 0 && c.now > c.then {
			return fmt.Errorf("the server has %d %s more than there are", c.now-c.then, c.what)
		}
	}
	return nil
}

// settleTime is how long a server may take to forget what was deleted.
const settleTime = 5 * time.Second

// settle waits until the server has no more than it had before the cell, and
// says what is left if it does not come to that.
func (m *matrix) settle(ctx context.Context) error {
	before := m.before
	if before.sessions >= 0 {
		before.sessions += int64(m.crowd.size())
	}
	for end := time.Now().Add(settleTime); ; {
		h, err := m.holding(ctx)
		if err == nil {
			err = h.beyond(before)
		}
		if err == nil || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
		time.Sleep(settleTime / 50)
	}
}

// look reads the page of "uaload serve -pprof".
func look(ctx context.Context, page string) (f footprint, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return f, err
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return f, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return f, fmt.Errorf("%s", answer.Status)
	}
	return f, json.NewDecoder(answer.Body).Decode(&f)
}
