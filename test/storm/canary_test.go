//go:build storm

package storm

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/pki"
)

// canaryOf is the variable of the environment that makes this program the canary
// of a server.
const canaryOf = "STORM_CANARY_OF"

const (
	items    = 100
	period   = 100 * time.Millisecond
	firstOne = 1001 // node of the benchmark's address space
)

// report is what the canary saw. Times are in ms.
type report struct {
	Received, Missing int
	P50, P99, Most    float64
	Error             string
}

// canary is a process with two sessions: one writes a hundred values ten times a
// second, the other has a subscription to all of them.
type canary struct {
	process *exec.Cmd
	stdin   io.Closer
	said    *bufio.Reader
}

func newCanary(t *testing.T, endpoint string) *canary {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := &canary{process: exec.Command(self)}
	c.process.Env = append(os.Environ(), canaryOf+"="+endpoint)
	c.process.Stderr = os.Stderr
	c.stdin, _ = c.process.StdinPipe()
	out, _ := c.process.StdoutPipe()
	c.said = bufio.NewReader(out)
	if err := c.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.process.Process.Kill() })
	if line, err := c.said.ReadString('\n'); line != "ready\n" {
		t.Fatalf("the canary says %q, %v", line, err)
	}
	return c
}

// end has the canary report and ends it.
func (c *canary) end(t *testing.T) (r report) {
	t.Helper()
	c.stdin.Close()
	if err := json.NewDecoder(c.said).Decode(&r); err != nil {
		t.Error(err)
	}
	_ = c.process.Wait()
	return r
}

// watch is the canary's process. It ends with its standard input.
func watch(endpoint string) {
	over, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	r := new(report)
	if err := r.collect(over, endpoint); err != nil {
		r.Error = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(r)
}

// writes remembers when each number was written.
type writes struct {
	mu    sync.Mutex
	times []time.Time
}

func (r *report) collect(over context.Context, endpoint string) error {
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:uahive:storm:canary", AcceptAll: true})
	if err != nil {
		return err
	}
	ctx := context.Background()
	config := stormConfig(store)
	config.Reconnect.Disabled = true
	writer, err := client.Connect(ctx, endpoint, config)
	if err != nil {
		return err
	}
	defer writer.Close(ctx)
	reader, err := client.Connect(ctx, endpoint, config)
	if err != nil {
		return err
	}
	defer reader.Close(ctx)
	var (
		w      writes
		delays []time.Duration
		last   [items]int32
	)
	write := func() error {
		w.mu.Lock()
		number := int32(len(w.times) + 1)
		w.times = append(w.times, time.Now())
		w.mu.Unlock()
		values := make([]ua.WriteValue, items)
		for i := range values {
			values[i] = ua.WriteValue{
				NodeID: ua.NumericID(1, uint32(firstOne+i)), AttributeID: ua.AttributeIDValue,
				Value: ua.DataValue{Value: ua.VariantOf(number)},
			}
		}
		codes, err := writer.Write(ctx, values...)
		if err == nil && slices.ContainsFunc(codes, ua.StatusCode.IsBad) {
			err = fmt.Errorf("a write is refused")
		}
		return err
	}
	if err := write(); err != nil {
		return err
	}
	sub, err := reader.Subscribe(ctx, client.SubscriptionConfig{Interval: period})
	if err != nil {
		return err
	}
	seen := func(c client.Change) { // called by one goroutine
		i, number := c.Item.Tag.(int), int32(0)
		if v, ok := ua.As[int32](c.Value.Value); ok {
			number = v
		}
		now := time.Now()
		if last[i] != 0 && number != last[i]+1 {
			r.Missing++
		}
		last[i] = number
		w.mu.Lock()
		if number >= 1 && int(number) <= len(w.times) {
			delays = append(delays, now.Sub(w.times[number-1]))
			r.Received++
		}
		w.mu.Unlock()
	}
	var wanted []client.MonitorItem
	for i := range items {
		wanted = append(wanted, client.MonitorItem{Node: ua.NumericID(1, uint32(firstOne+i)), Tag: i, Queue: 10, Sampling: -1})
	}
	if _, err := sub.Monitor(ctx, seen, wanted...); err != nil {
		return err
	}
	fmt.Println("ready")
	tick := time.NewTicker(period)
	defer tick.Stop()
	for over.Err() == nil {
		select {
		case <-tick.C:
			if err := write(); err != nil {
				return err
			}
		case <-over.Done():
		}
	}
	time.Sleep(10 * period) // what was written last is still on its way
	if err := sub.Close(ctx); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range last {
		if int(last[i]) != len(w.times) {
			r.Missing++
		}
	}
	slices.Sort(delays)
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	if n := len(delays); n > 0 {
		r.P50, r.P99, r.Most = ms(delays[n/2]), ms(delays[n*99/100]), ms(delays[n-1])
	}
	return nil
}
