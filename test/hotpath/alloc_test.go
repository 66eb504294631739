// Package hotpath proves over a real server and a real connection that the
// services which only touch memory allocate nothing.
package hotpath

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
)

const (
	// rounds is the number of requests that are counted together: an object that
	// only every tenth of them allocates still shows.
	rounds = 5000
	// tries is how often it is counted until there is no garbage: at first pools
	// fill, and a burst larger than all before it takes a larger buffer.
	tries = 6
	// What may be allocated for each request in the mean. Something else in the
	// process, such as a timer of the server, allocates now and then.
	objectsAllowed = 0.01
	bytesAllowed   = 2.0
)

// exchange is a request that must be answered without garbage, and how often it
// is in flight at once. With one, each batch has one answer; with more, answers
// share batches, whose buffers grow.
type exchange struct {
	name     string
	inflight int
	request  ua.Structure
	check    func(context.Context, *client.Client) error
}

// Only what the server's process allocates is counted.
func TestServicesInMemoryAllocateNothing(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector makes sync.Pool drop things at random: allocations cannot be counted")
	}
	endpoint, count := startServer(t)
	for _, security := range []string{"None", "Basic256Sha256/Sign", "Basic256Sha256/SignAndEncrypt"} {
		c := connect(t, endpoint, security)
		for _, x := range exchanges() {
			t.Run(fmt.Sprintf("%s/%s/%d in flight", security, x.name, x.inflight), func(t *testing.T) {
				// An error would be cheap as well.
				if err := x.check(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				f := newFlight(t, c, x.request, x.inflight)
				var objects, bytes float64
				for range tries {
					objects, bytes = garbage(count, rounds, func() { f.run(t, rounds) })
					if objects <= objectsAllowed && bytes <= bytesAllowed {
						return
					}
				}
				t.Errorf("%.3f objects and %.1f bytes allocated for each request", objects, bytes)
			})
		}
	}
}

// exchanges are the requests of the issue "no garbage per Read".
func exchanges() []exchange {
	read := func(n int) *ua.ReadRequest {
		r := &ua.ReadRequest{TimestampsToReturn: ua.TimestampsToReturnBoth}
		for i := range n {
			r.NodesToRead = append(r.NodesToRead, client.ValueID(ua.NumericID(1, uint32(i+1))))
		}
		return r
	}
	write := &ua.WriteRequest{NodesToWrite: []ua.WriteValue{{
		NodeID: ua.NumericID(1, 1), AttributeID: ua.AttributeIDValue, Value: ua.DataValue{Value: ua.VariantOf(int32(7))},
	}}}
	browse := &ua.BrowseRequest{NodesToBrowse: []ua.BrowseDescription{{
		NodeID: ua.NumericID(0, id.ObjectsFolder), ReferenceTypeID: ua.NumericID(0, id.HierarchicalReferences),
		IncludeSubtypes: true, ResultMask: uint32(ua.BrowseResultMaskAll),
	}}}
	var all []exchange
	for _, inflight := range []int{1, 10, 100} {
		all = append(
			all,
			exchange{"Read of one node", inflight, read(1), checkRead(read(1))},
			exchange{"Read of 100 nodes", inflight, read(nodes), checkRead(read(nodes))},
			exchange{"Write of a scalar", inflight, write, checkWrite(write)},
			exchange{"Browse of 100 references", inflight, browse, checkBrowse(browse)},
		)
	}
	return all
}

func checkRead(r *ua.ReadRequest) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		var resp ua.ReadResponse
		err := c.Do(ctx, r, &resp)
		bad := func(v ua.DataValue) bool { return v.Status.IsBad() || v.Value.IsNull() }
		if err == nil && (len(resp.Results) != len(r.NodesToRead) || slices.ContainsFunc(resp.Results, bad)) {
			err = fmt.Errorf("%d values, or one of them is bad", len(resp.Results))
		}
		return err
	}
}

func checkWrite(w *ua.WriteRequest) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		var resp ua.WriteResponse
		err := c.Do(ctx, w, &resp)
		if err == nil && (len(resp.Results) != 1 || resp.Results[0].IsBad()) {
			err = fmt.Errorf("written: %v", resp.Results)
		}
		return err
	}
}

func checkBrowse(b *ua.BrowseRequest) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		var resp ua.BrowseResponse
		err := c.Do(ctx, b, &resp)
		if err == nil && (len(resp.Results) != 1 || len(resp.Results[0].References) < nodes) {
			err = fmt.Errorf("browsed: %d results", len(resp.Results))
		}
		return err
	}
}

// TestGarbageIsSeen keeps the test above from passing for the wrong reason: one
// object for every tenth unit of work must show.
func TestGarbageIsSeen(t *testing.T) {
	var keep []*[64]byte
	objects, bytes := garbage(allocated, rounds, func() {
		for i := range rounds {
			if i%10 == 0 {
				keep = append(keep, new([64]byte))
			}
		}
	})
	if objects <= objectsAllowed || bytes <= bytesAllowed {
		t.Errorf("%.3f objects and %.1f bytes seen of %d kept", objects, bytes, len(keep))
	}
}

// BenchmarkRead is one Read after the other, client included.
func BenchmarkRead(b *testing.B) { benchmark(b, "Read of one node", 1) }

// BenchmarkReadMany has 100 Reads in flight.
func BenchmarkReadMany(b *testing.B) { benchmark(b, "Read of one node", 100) }

// BenchmarkReadLarge has 10 Reads of 100 nodes in flight.
func BenchmarkReadLarge(b *testing.B) { benchmark(b, "Read of 100 nodes", 10) }

// BenchmarkWrite is one Write after the other.
func BenchmarkWrite(b *testing.B) { benchmark(b, "Write of a scalar", 1) }

// BenchmarkBrowse is one Browse after the other.
func BenchmarkBrowse(b *testing.B) { benchmark(b, "Browse of 100 references", 1) }

func benchmark(b *testing.B, name string, inflight int) {
	endpoint := serve(b)
	all := exchanges()
	x := all[slices.IndexFunc(all, func(x exchange) bool { return x.name == name && x.inflight == inflight })]
	for _, security := range []string{"None", "Basic256Sha256/SignAndEncrypt"} {
		b.Run(security, func(b *testing.B) {
			f := newFlight(b, connect(b, endpoint, security), x.request, x.inflight)
			f.run(b, 1000)
			b.ReportAllocs()
			b.ResetTimer()
			f.run(b, b.N)
		})
	}
}
