package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

const (
	// connecting is how many clients connect at once: enough to fill the waits
	// of each, and no flood that a server has to defend itself against.
	connecting = 8
	// closing is how many clients close at once, and closeTime how long all of
	// them may take, with closeEach for each: a server that has died must not
	// hold up the result.
	closing   = 32
	closeTime = 5 * time.Second
	closeEach = time.Millisecond
	// largestMessage is what the benchmark's server sends and takes.
	largestMessage = 64 << 20
	// largestArray is in elements: the array of a message of that size.
	largestArray = 16 << 20
)

// errInterrupted is for a run that the user ended.
var errInterrupted = errors.New("interrupted")

// config is what all clients of a load have in common: one certificate, made
// for this run, and trust in any server.
func (t *target) config() (client.Config, error) {
	security, err := client.ParseSecurity(t.security)
	if err != nil {
		return client.Config{}, err
	}
	config := client.Config{
		Security: security, TrustAll: true, IgnoreHostname: true, AllowEndpointMismatch: true,
		ApplicationName: "uaload", SessionTimeout: time.Hour, RequestTimeout: t.timeout, ConnectTimeout: t.timeout,
		MaxMessage: largestMessage, MaxArrayLength: largestArray,
	}
	if security != client.NoSecurity {
		config.PKI, err = pki.Memory(pki.Config{
			ApplicationURI: "urn:uahive:uaload:client", AcceptAll: true, KeyTypes: security.KeyTypes(),
		})
	}
	return config, err
}

// connect opens n clients, a few at a time.
func (t *target) connect(ctx context.Context, n int, change func(*client.Config)) ([]*client.Client, error) {
	config, err := t.discover(ctx, change)
	if err != nil {
		return nil, err
	}
	crew := make([]*client.Client, n)
	bar := newProgress("connecting", t.json)
	err = each(ctx, n, connecting, func(ctx context.Context, i int) error {
		c, err := client.Connect(ctx, t.endpoint, config)
		if err != nil {
			return fmt.Errorf("client %d of %d cannot connect: %w", i+1, n, err)
		}
		crew[i] = c
		return nil
	}, func(done int) { bar.show("%d of %d clients", done, n) })
	bar.end()
	if err != nil {
		closeAll(crew)
		return nil, err
	}
	return crew, nil
}

// discover makes the configuration of all clients. One of them asks the server
// for its endpoints, so that the others need not.
func (t *target) discover(ctx context.Context, change func(*client.Config)) (client.Config, error) {
	config, err := t.config()
	if err != nil {
		return config, err
	}
	if change != nil {
		change(&config)
	}
	if config.Endpoints, err = client.Discover(ctx, t.endpoint, config); err != nil {
		return config, fmt.Errorf("no server answers at %s: %w", t.endpoint, err)
	}
	return config, nil
}

// closeAll ends the clients, many at a time, and returns what went wrong.
// Elements may be nil.
func closeAll(crew []*client.Client) (bad tally) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime+time.Duration(len(crew))*closeEach)
	defer cancel()
	var mu sync.Mutex
	_ = each(ctx, len(crew), closing, func(ctx context.Context, i int) error {
		if crew[i] == nil {
			return nil
		}
		if err := crew[i].Close(ctx); err != nil { // of a server that has gone, too
			mu.Lock()
			bad.add(ua.StatusOf(err))
			mu.Unlock()
		}
		return nil
	}, nil)
	return bad
}

// each calls fn with 0 to n-1, at most several at a time, and returns the first
// error, after which it begins no more. done, which may be nil, is told after
// each how many there have been.
func each(ctx context.Context, n, several int, fn func(ctx context.Context, i int) error, done func(int)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu      sync.Mutex
		next    int
		ended   int
		failure error
		group   sync.WaitGroup
	)
	for range min(n, several) {
		group.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				stop := i >= n || failure != nil
				mu.Unlock()
				if stop {
					return
				}
				err := fn(ctx, i)
				mu.Lock()
				ended++
				if err != nil && failure == nil {
					failure = err
					cancel()
				}
				if done != nil && failure == nil {
					done(ended)
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return failure
}
