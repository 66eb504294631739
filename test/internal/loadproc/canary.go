//go:build linux

package loadproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

const canaryRole = "canary"

// FirstNode is the numeric id, in namespace 1, of the first of the hundred Int32
// variables of "uaload serve".
const FirstNode = 1001

// Variable returns the id of one of the hundred variables.
func Variable(i int) ua.NodeID { return ua.NumericID(1, uint32(FirstNode+i)) }

// CanaryConfig says what a canary watches. The zero value writes a hundred values
// ten times a second, and is told of them as often.
type CanaryConfig struct {
	Place `json:"-"`
	// Endpoint of the server.
	Endpoint string
	// Items is the number of variables, from the first one on. Default and at
	// most 100.
	Items int
	// Period is the time between two writes of all, and the publishing interval.
	// Default 100 ms.
	Period time.Duration
	// Patience bounds its connecting and each of its requests. Default 10 s.
	Patience time.Duration
}

// Report is what a canary saw. Delays are from the write to the receipt, in ms.
type Report struct {
	Received                      int
	Missing, Repeated, Disordered int64
	P50, P99, Most                float64
	Error                         string
}

// Wrong says why the canary was disturbed, or nothing. A p99 above the bound is a
// disturbance; 0 stands for no bound.
func (r Report) Wrong(p99 time.Duration) string {
	switch {
	case r.Error != "":
		return r.Error
	case r.Received == 0:
		return "it received nothing"
	case r.Missing+r.Repeated+r.Disordered > 0:
		return fmt.Sprintf("%d values are missing, %d repeated, %d out of order", r.Missing, r.Repeated, r.Disordered)
	case p99 > 0 && r.P99 >= milliseconds(p99):
		return fmt.Sprintf("its p99 is %.0f ms", r.P99)
	}
	return ""
}

func (r Report) String() string {
	return fmt.Sprintf("%d values, %d missing, %d repeated, %d out of order; p50 %.0f ms, p99 %.0f ms, most %.0f ms",
		r.Received, r.Missing, r.Repeated, r.Disordered, r.P50, r.P99, r.Most)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Canary is a process with two secure sessions: one writes values that all
// change, the other has a subscription to all of them and checks each.
type Canary struct{ *Child }

// NewCanary starts a canary, and returns when it watches.
func NewCanary(t testing.TB, config CanaryConfig) *Canary {
	t.Helper()
	config.Items = min(max(config.Items, 0), 100)
	if config.Items == 0 {
		config.Items = 100
	}
	if config.Period <= 0 {
		config.Period = 100 * time.Millisecond
	}
	if config.Patience <= 0 {
		config.Patience = 10 * time.Second
	}
	c := &Canary{Start(t, config.Place, canaryRole, config)}
	c.Expect(t, "ready", patience)
	return c
}

// End has the canary report and ends it. The test fails, when it was disturbed.
// A p99 from p99 on counts as that; 0 stands for any.
func (c *Canary) End(t testing.TB, p99 time.Duration) (r Report) {
	t.Helper()
	c.CloseInput()
	c.Read(t, patience, &r)
	t.Logf("canary: %v", r)
	if wrong := r.Wrong(p99); wrong != "" {
		t.Errorf("the session that was there before was disturbed: %s", wrong)
	}
	return r
}

// ClientConfig is how a secure client of the heavy tests connects.
func ClientConfig(name string) (client.Config, error) {
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:test:" + name, AcceptAll: true})
	return client.Config{
		Security: client.Security{Policy: client.PolicyBasic256Sha256, Mode: ua.MessageSecurityModeSignAndEncrypt}, PKI: store,
		TrustAll: true, IgnoreHostname: true, AllowEndpointMismatch: true, ApplicationName: name,
		SessionTimeout: 10 * time.Minute,
	}, err
}

// watch is the canary's process. It ends with its standard input.
func watch(config CanaryConfig) error {
	over, end := context.WithCancel(context.Background())
	go func() { // ends with the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	w := &watcher{config: config, last: make([]Follower, config.Items)}
	err := w.collect(over)
	w.judge()
	if err != nil {
		w.report.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(w.report)
}

// watcher is the state of a canary.
type watcher struct {
	config CanaryConfig
	last   []Follower // of each item; used by one goroutine at a time
	report Report

	mu     sync.Mutex
	times  []time.Time // when each number was written, from 1 on
	delays []float64   // in ms
}

func (w *watcher) collect(over context.Context) error {
	config, err := ClientConfig(canaryRole)
	if err != nil {
		return err
	}
	config.ConnectTimeout, config.RequestTimeout = w.config.Patience, w.config.Patience
	config.Reconnect.Disabled = true // whoever throws it out disturbs it
	ctx := context.Background()
	writer, err := client.Connect(ctx, w.config.Endpoint, config)
	if err != nil {
		return err
	}
	defer writer.Close(ctx)
	reader, err := client.Connect(ctx, w.config.Endpoint, config)
	if err != nil {
		return err
	}
	defer reader.Close(ctx)
	if err := w.write(writer); err != nil {
		return err
	}
	sub, err := reader.Subscribe(ctx, client.SubscriptionConfig{Interval: w.config.Period, Queue: 100 * w.config.Items})
	if err != nil {
		return err
	}
	var wanted []client.MonitorItem
	for i := range w.config.Items {
		wanted = append(wanted, client.MonitorItem{Node: Variable(i), Tag: i, Queue: 100, Sampling: -1})
	}
	if _, err := sub.Monitor(ctx, w.seen, wanted...); err != nil {
		return err
	}
	fmt.Println("ready")
	tick := time.NewTicker(w.config.Period)
	defer tick.Stop()
	for over.Err() == nil {
		select {
		case <-tick.C:
			if err := w.write(writer); err != nil {
				return err
			}
		case <-sub.Done():
			return errors.Join(errors.New("the subscription has ended"), sub.Err())
		case <-over.Done():
		}
	}
	time.Sleep(10 * w.config.Period) // what was written last is still on its way
	if dropped := reader.Stats().Dropped; dropped > 0 {
		return fmt.Errorf("the canary itself was too slow for %d values", dropped)
	}
	if err := sub.Close(ctx); err != nil {
		return err
	}
	return nil
}

// write writes the next number to all variables.
func (w *watcher) write(writer *client.Client) error {
	w.mu.Lock()
	w.times = append(w.times, time.Now())
	number := int32(len(w.times))
	w.mu.Unlock()
	values := make([]ua.WriteValue, w.config.Items)
	for i := range values {
		values[i] = ua.WriteValue{NodeID: Variable(i), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(number)}}
	}
	codes, err := writer.Write(context.Background(), values...)
	if bad := slices.IndexFunc(codes, ua.StatusCode.IsBad); err == nil && bad >= 0 {
		err = fmt.Errorf("write %d of value %d, after %v, is refused: %w", number, bad, time.Since(w.times[number-1]), codes[bad])
	}
	return err
}

// seen takes a change.
func (w *watcher) seen(c client.Change) {
	number, ok := ua.As[int32](c.Value.Value)
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if !ok || number < 1 || int(number) > len(w.times) {
		w.report.Error = fmt.Sprintf("a value that was never written: %v", c.Value)
		return
	}
	w.last[c.Item.Tag.(int)].Take(int64(number))
	w.delays = append(w.delays, milliseconds(now.Sub(w.times[number-1])))
}

// judge adds up what the items saw.
func (w *watcher) judge() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.last {
		f := &w.last[i]
		f.End(int64(len(w.times)))
		w.report.Missing += f.Missing
		w.report.Repeated += f.Repeated
		w.report.Disordered += f.Disordered
	}
	slices.Sort(w.delays)
	if n := len(w.delays); n > 0 {
		w.report.Received = n
		w.report.P50, w.report.P99, w.report.Most = w.delays[n/2], w.delays[n*99/100], w.delays[n-1]
	}
}
