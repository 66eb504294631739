package sessionactor

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uahive/uahive/actors"
	"github.com/uahive/uahive/channelactor"
	"github.com/uahive/uahive/codec/ua"
)

const (
	// latencyBuckets is the number of buckets of a histogram, the one without an
	// upper bound included.
	latencyBuckets = 22
	// latencyShift makes the first upper bound 2^12 ns, about 4 microseconds.
	// Each one is twice the one before; the last is 4.3 s.
	latencyShift = 12
)

// LatencyBound returns the upper bound, inclusive, of a bucket of
// [Latency]; false for the last one, which has none.
func LatencyBound(bucket int) (time.Duration, bool) {
	return 1 << (latencyShift + bucket), bucket < latencyBuckets-1
}

// Latency is a histogram of the time that requests took: from the return of the
// read that brought the request, or its last chunk, to the moment when its answer
// was handed to the socket, or to the queue in front of it where the peer reads
// slowly. It holds the waiting for the worker pool and the time in the program's
// code, and not what went before in the buffers of the system. Requests that came
// in with one read are answered with one write, so that the first of them also took
// the time of the others.
type Latency struct {
	// Buckets has the number of requests in each bucket, whose bounds
	// [LatencyBound] tells. They are not cumulative.
	Buckets [latencyBuckets]uint64
	// Sum is the time of all requests together.
	Sum time.Duration
}

// Count returns the number of requests.
func (l *Latency) Count() uint64 {
	n := uint64(0)
	for _, c := range l.Buckets {
		n += c
	}
	return n
}

func bucketOf(d time.Duration) int {
	if d <= 0 {
		return 0
	}
	return min(bits.Len64(uint64(d-1)>>latencyShift), latencyBuckets-1)
}

// meter counts the requests of all services. What came together is counted
// together, once for each service that was asked, and readers are spread over
// shards, so that cores do not fight for the lines that they count in.
type meter struct {
	shards []meterShard              // a power of two
	faults [maxServices]actors.Tally // by service, keyed by status
}

type meterShard struct {
	services [maxServices]serviceMeter
	_        [64]byte
}

// serviceMeter is what one service did: good answers, and the time of all.
type serviceMeter struct {
	good    atomic.Uint64
	sum     atomic.Uint64 // nanoseconds
	buckets [latencyBuckets]atomic.Uint64
}

func (m *meter) init() {
	n := 2
	for n < runtime.GOMAXPROCS(0) && n < 16 {
		n *= 2
	}
	m.shards = make([]meterShard, n)
}

// shard returns the one in which a channel counts.
func (m *meter) shard(c *channelactor.Channel) *meterShard {
	return &m.shards[int(c.ID())&(len(m.shards)-1)]
}

// add counts answers of a service that all took the same time.
func (s *meterShard) add(service int, good, all uint32, took time.Duration) {
	m := &s.services[service]
	if good > 0 {
		m.good.Add(uint64(good))
	}
	m.sum.Add(uint64(max(0, took)) * uint64(all))
	m.buckets[bucketOf(took)].Add(uint64(all))
}

// goods and bads return how many requests were answered with a response, and how
// many with a fault, over all services.
func (m *meter) goods() (n uint64) {
	for i := range m.shards {
		for k := range m.shards[i].services {
			n += m.shards[i].services[k].good.Load()
		}
	}
	return n
}

func (m *meter) bads() (n uint64) {
	for i := range m.faults {
		n += m.faults[i].Total()
	}
	return n
}

// answered counts a request that was answered on its own.
func (m *meter) answered(r *deferred, code ua.StatusCode) {
	good := uint32(1)
	if code.IsBad() {
		good = 0
		m.faults[r.entry.index].Add(uint32(code), 1)
	}
	m.shard(r.channel).add(r.entry.index, good, 1, time.Since(r.arrived))
}

// gathered counts what one batch answered until the answers leave.
type gathered struct {
	touched uint64 // a bit for each service
	good    [maxServices]uint32
	all     [maxServices]uint32
}

func (g *gathered) add(service int, good bool) {
	g.touched |= 1 << service
	g.all[service]++
	if good {
		g.good[service]++
	}
}

// Answered implements [channelactor.Observer]: with one look at the clock, all
// that was gathered since the last time took from the read that brought it until
// now.
func (s *Service) Answered(b *channelactor.Batch) {
	x, ok := b.Scratch.(*exchange)
	if !ok || x.gathered.touched == 0 {
		return
	}
	took := time.Since(b.Arrived())
	shard := s.meter.shard(b.Channel())
	g := &x.gathered
	for g.touched != 0 {
		i := bits.TrailingZeros64(g.touched)
		g.touched &= g.touched - 1
		shard.add(i, g.good[i], g.all[i], took)
		g.good[i], g.all[i] = 0, 0
	}
}

var _ channelactor.Observer = (*Service)(nil)

// Requests is what one service did.
type Requests struct {
	// Service is its name in Part 4, such as "Read"; "Unknown" stands for requests
	// of no service that is offered.
	Service string
	// Results says how many requests were answered with which service result,
	// Good first and then by code. Results of single operations are not counted.
	Results []Result
	// Other counts results beyond those that the counters tell apart.
	Other uint64
	// Latency is the time that the requests took. That of Publish is empty: such a
	// request waits for something to report, and its time says nothing of the server.
	Latency Latency
}

// merge adds counts of the same kind up.
func merge(a, b []actors.Count) []actors.Count {
	for _, c := range b {
		i, found := slices.BinarySearchFunc(a, c, func(x, y actors.Count) int { return cmp.Compare(x.Key, y.Key) })
		if found {
			a[i].N += c.N
		} else {
			a = slices.Insert(a, i, c)
		}
	}
	return a
}

// Result counts requests with the same service result.
type Result struct {
	Status ua.StatusCode
	Count  uint64
}

// Requests returns what each service did that was asked at least once. Publish
// requests count when they are answered.
func (s *Service) Requests() []Requests {
	var list []Requests
	for i := range len(services) + 1 {
		r := Requests{Service: unknownEntry.name}
		if i > 0 {
			r.Service = services[i-1].name
		}
		good := uint64(0)
		for k := range s.meter.shards {
			m := &s.meter.shards[k].services[i]
			good += m.good.Load()
			r.Latency.Sum += time.Duration(m.sum.Load())
			for n := range m.buckets {
				r.Latency.Buckets[n] += m.buckets[n].Load()
			}
		}
		faults, other := s.meter.faults[i].Counts()
		if i == publishIndex {
			answers, refused, more := s.config.Subscriptions.PublishResults()
			good, faults, other = good+answers, merge(faults, refused), other+more
			r.Latency = Latency{}
		}
		if good > 0 {
			r.Results = append(r.Results, Result{ua.Good, good})
		}
		for _, f := range faults {
			r.Results = append(r.Results, Result{ua.StatusCode(f.Key), f.N})
		}
		if r.Other = other; len(r.Results) > 0 || other > 0 {
			list = append(list, r)
		}
	}
	return list
}
