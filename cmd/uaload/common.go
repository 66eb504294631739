package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/pki"
)

// common are the flags that every load has.
type common struct {
	endpoint, security string
	pid                int
	json               bool
}

func (c *common) add(flags *flag.FlagSet) {
	flags.StringVar(&c.endpoint, "endpoint", "opc.tcp://127.0.0.1:4841", "server to load")
	flags.StringVar(&c.security, "security", "None", "None, or policy and mode as in Basic256Sha256/SignAndEncrypt")
	flags.IntVar(&c.pid, "pid", 0, "process id of the server, to measure its CPU time and memory")
	flags.BoolVar(&c.json, "json", false, "print the result as JSON")
}

// connect opens clients one after the other, with one certificate for all.
func (c *common) connect(ctx context.Context, n int, change func(*client.Config)) ([]*client.Client, error) {
	security, err := client.ParseSecurity(c.security)
	if err != nil {
		return nil, fmt.Errorf("-security %q: %w", c.security, err)
	}
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:uaload:client", AcceptAll: true})
	if err != nil {
		return nil, err
	}
	config := client.Config{
		Security: security, PKI: store, TrustAll: true, IgnoreHostname: true,
		ApplicationName: "uaload", SessionTimeout: time.Hour, MaxMessage: 64 << 20,
	}
	if change != nil {
		change(&config)
	}
	endpoints, err := client.Discover(ctx, c.endpoint, config)
	if err != nil {
		return nil, err
	}
	config.Endpoints = endpoints
	crew := make([]*client.Client, 0, n)
	bar := newProgress("connecting", c.json)
	defer bar.end()
	for len(crew) < n {
		one, err := client.Connect(ctx, c.endpoint, config)
		if err != nil {
			closeAll(crew)
			return nil, fmt.Errorf("client %d: %w", len(crew)+1, err)
		}
		crew = append(crew, one)
		bar.show(fmt.Sprintf("%d of %d clients", len(crew), n))
	}
	return crew, nil
}

// closeAll ends the clients, many at a time.
func closeAll(crew []*client.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var group sync.WaitGroup
	next := make(chan *client.Client)
	for range 32 {
		group.Go(func() {
			for c := range next {
				c.Close(ctx)
			}
		})
	}
	for _, c := range crew {
		next <- c
	}
	close(next)
	group.Wait()
}

func (c *common) cpu(server process) (time.Duration, error) {
	if c.pid == 0 {
		return 0, nil
	}
	return server.cpu()
}

// progress waits for the duration and shows how far the load has come.
func (c *common) progress(ctx context.Context, d time.Duration, count func() int64) error {
	bar := newProgress("measuring", c.json)
	defer bar.end()
	end := time.Now().Add(d)
	for {
		rest := time.Until(end)
		if rest <= 0 {
			return nil
		}
		if err := sleep(ctx, min(rest, time.Second)); err != nil {
			return err
		}
		bar.show(fmt.Sprintf("%d answers, %v left", count(), max(0, time.Until(end)).Round(time.Second)))
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// progress shows one line that is written over on a terminal, and nothing where
// the output is read by a program.
type progress struct {
	what  string
	on    bool
	shown time.Time
}

func newProgress(what string, quiet bool) *progress {
	return &progress{what: what, on: !quiet && term.IsTerminal(int(os.Stderr.Fd()))}
}

func (p *progress) show(text string) {
	if p.on && time.Since(p.shown) > 100*time.Millisecond {
		p.shown = time.Now()
		fmt.Fprintf(os.Stderr, "\r\x1b[K%s: %s", p.what, text)
	}
}

func (p *progress) end() {
	if p.on {
		fmt.Fprint(os.Stderr, "\r\x1b[K")
	}
}
