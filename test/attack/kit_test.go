package attack

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/pki"
	"github.com/uahive/uahive/sessionactor"
	"github.com/uahive/uahive/test/internal/memnet"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// target is a server with something behind every service.
type target struct {
	tb     testing.TB
	server *uahive.Server
	dial   func() net.Conn
	url    string
	log    *record
	canary *canary

	// Of the fuzz target and its like, which have one session at a time.
	peer    *rawpeer.Peer
	session *rawpeer.Session
	sub     uint32
}

// record keeps what the server logs.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

// place is where a target listens.
type place bool

const (
	inMemory place = false
	onTCP    place = true
)

// newTarget starts a server, which ends with the test: within five seconds, with
// no panic on its record and nothing left.
func newTarget(tb testing.TB, where place, settings ...func(*uahive.Config)) *target {
	tb.Helper()
	x := &target{tb: tb, log: new(record)}
	config := uahive.Config{
		Endpoint: "opc.tcp://127.0.0.1:0", ApplicationURI: "urn:test:server", PKI: serverPKI, TrustAll: true, ShutdownDelay: -1,
		Security: append(uahive.SecurePolicies(), uahive.NoSecurity), Logger: zerolog.New(x.log).Level(zerolog.WarnLevel),
	}
	for _, set := range settings {
		set(&config)
	}
	server, err := uahive.New(config)
	if err != nil {
		tb.Fatal(err)
	}
	x.server = server
	x.nodes()
	var listener net.Listener
	if where == inMemory {
		l := memnet.Listen()
		listener, x.dial = l, func() net.Conn { return x.must(l.Dial()) }
	} else {
		if listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			tb.Fatal(err)
		}
		address := listener.Addr().String()
		x.url = "opc.tcp://" + address
		x.dial = func() net.Conn { return x.must(net.Dial("tcp", address)) }
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.ServeListener(ctx, listener) }()
	tb.Cleanup(func() {
		x.canary.stop(tb)
		cancel()
		start := time.Now()
		if err := <-served; err != nil {
			tb.Errorf("Serve: %v", err)
		}
		n := server.Stats()
		switch {
		case time.Since(start) > 5*time.Second:
			tb.Errorf("the shutdown took %v", time.Since(start))
		case n.Channels.Panics+n.Panics+n.Pool.Panics+n.Lane.Panics > 0:
			tb.Errorf("panics: %s", x.log)
		case n.Channels.Channels+n.Sessions.Sessions != 0 || n.Channels.AssemblyBytes != 0:
			tb.Errorf("left behind: %+v", n)
		}
	})
	return x
}

func (x *target) must(conn net.Conn, err error) net.Conn {
	x.tb.Helper()
	if err != nil {
		x.tb.Fatal(err)
	}
	return conn
}

// managed answers for all nodes of a namespace.
type managed struct{}

func (managed) Read(_ context.Context, items []addrspace.ReadItem) {
	for i := range items {
		items[i].Result = ua.DataValue{Value: ua.VariantOf(int32(7))}
	}
}

func (managed) Write(_ context.Context, items []addrspace.WriteItem) {
	for i := range items {
		items[i].Result = ua.Good
	}
}

func (managed) Browse(_ context.Context, items []addrspace.BrowseItem) {
	for i := range items {
		items[i].Result = ua.Good
		items[i].References = []ua.ReferenceDescription{{
			ReferenceTypeID: ua.NumericID(0, id.Organizes), IsForward: true,
			NodeID: ua.ExpandedNodeID{NodeID: items[i].NodeID}, NodeClass: ua.NodeClassObject,
		}}
	}
}

func (managed) Call(_ context.Context, items []addrspace.CallItem) {
	for i := range items {
		items[i].Result, items[i].Outputs = ua.Good, items[i].Inputs
	}
}

// Numbers of nodes that [target.nodes] makes in namespace 2.
const (
	int32Node     = 6
	stringNode    = 12
	bytesNode     = 13
	firstArray    = 21
	arrayNode     = 22
	stringArray   = 24
	matrixNode    = 27
	anyNode       = 28
	waitingNode   = 29
	waitingMethod = 30
	inlineNode    = 31
	inlineMethod  = 32
	lastNode      = inlineMethod
)

// node names one of the nodes that every target has.
func node(n uint32) ua.NodeID { return ua.NumericID(2, n) }

// nodes makes ns=2;i=1.. with a value or method of each kind, and a manager for
// namespace 3.
func (x *target) nodes() {
	space := x.server.Space()
	for _, uri := range []string{"urn:test:nodes", "urn:test:managed"} {
		if _, err := space.AddNamespace(uri); err != nil {
			x.tb.Fatal(err)
		}
	}
	space.Mount(3, managed{})
	next := uint32(0)
	add := func(spec addrspace.NodeSpec) {
		next++
		spec.ID, spec.BrowseName = node(next), ua.QualifiedName{NamespaceIndex: 2, Name: "Node"}
		x.add(spec)
	}
	for _, value := range []any{
		true, int8(1), uint8(1), int16(1), uint16(1), int32(1), uint32(1), int64(1), uint64(1), float32(1), float64(1),
		"text", []byte("bytes"), time.Unix(0, 0), ua.NumericID(0, 1),
		ua.QualifiedName{Name: "a"},
		ua.LocalizedText{Text: "a"},
		ua.Guid{1},
		ua.StatusCode(0), &ua.Range{High: 1},
		[]bool{true},
		[]int32{1, 2, 3},
		[]float64{1, 2, 3},
		[]string{"a", "b"},
		[][]byte{{1}, {2}},
		[]ua.NodeID{{}},
	} {
		add(addrspace.NodeSpec{Class: ua.NodeClassVariable, Value: x.variant(value), AccessLevel: addrspace.ReadWrite})
	}
	matrix, err := ua.MatrixVariant([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		x.tb.Fatal(err)
	}
	add(addrspace.NodeSpec{Class: ua.NodeClassVariable, Value: matrix, AccessLevel: addrspace.ReadWrite})
	anyRank := int32(-2)
	add(addrspace.NodeSpec{
		Class: ua.NodeClassVariable, DataType: ua.NumericID(0, id.BaseDataType), ValueRank: &anyRank, AccessLevel: addrspace.ReadWrite,
	})
	for _, inline := range []bool{false, true} {
		add(addrspace.NodeSpec{
			Class: ua.NodeClassVariable, DataType: ua.NumericID(0, id.Int32), AccessLevel: addrspace.ReadWrite,
			Source: &addrspace.Source{
				Inline: inline,
				Read:   func(context.Context) (ua.DataValue, error) { return ua.DataValue{Value: ua.VariantOf(int32(1))}, nil },
				Write:  func(context.Context, ua.DataValue, ua.NumericRange) error { return nil },
			},
		})
		add(addrspace.NodeSpec{
			Class: ua.NodeClassMethod, ReferenceType: ua.NumericID(0, id.HasComponent),
			Method: &addrspace.Method{Inline: inline, Func: func(_ context.Context, c *addrspace.Call) error {
				c.Outputs = c.Inputs
				return nil
			}},
		})
	}
}

// add adds a node, below Objects unless the spec says otherwise.
func (x *target) add(spec addrspace.NodeSpec) *addrspace.Node {
	x.tb.Helper()
	if spec.Parent.IsNull() {
		spec.Parent = ua.NumericID(0, id.ObjectsFolder)
	}
	n, err := x.server.Space().AddNode(spec)
	if err != nil {
		x.tb.Fatal(err)
	}
	return n
}

// variable adds a variable that clients may read and write.
func (x *target) variable(name string, value any) *addrspace.Variable {
	x.tb.Helper()
	return x.add(addrspace.NodeSpec{
		ID: ua.StringID(2, name), Class: ua.NodeClassVariable, BrowseName: ua.QualifiedName{NamespaceIndex: 2, Name: name},
		Value: x.variant(value), AccessLevel: addrspace.ReadWrite,
	}).Variable()
}

func (x *target) variant(value any) ua.Variant {
	x.tb.Helper()
	v, err := ua.ValueOf(value)
	if err != nil {
		x.tb.Fatal(err)
	}
	return v
}

var clientKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// clientPKI returns the certificate store of a client, with certificates of these
// types beside the one for RSA.
func (x *target) clientPKI(types ...pki.KeyType) *pki.Store {
	x.tb.Helper()
	store, err := pki.Memory(pki.Config{ApplicationURI: rawpeer.ApplicationURI, AcceptAll: true, Key: clientKey(), KeyTypes: types})
	if err != nil {
		x.tb.Fatal(err)
	}
	return store
}

// secure returns the configuration of a peer with security.
func (x *target) secure(policy *uasc.Policy, mode uasc.Mode) rawpeer.Config {
	return rawpeer.Config{
		Policy: policy, Mode: mode, Server: x.server.PKI().Certificate(), Own: x.clientPKI(), Patience: 20 * time.Second,
	}
}

// open connects a peer without security.
func (x *target) open() *rawpeer.Peer {
	x.tb.Helper()
	return rawpeer.Connect(x.tb, x.dial(), rawpeer.Config{Patience: 20 * time.Second})
}

// bare connects a peer that has not said a word.
func (x *target) bare() *rawpeer.Peer {
	x.tb.Helper()
	return rawpeer.New(x.tb, x.dial(), rawpeer.Config{Patience: 20 * time.Second})
}

// eventually waits until a condition holds.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(15 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("in 15 s it did not come to this: %s", what)
		}
	}
}

// usage is how much the processors have done since the machine and this process
// have started, in ticks of the kernel; zero where it does not tell.
type usage struct{ all, idle, own float64 }

// processorTime reads the usage of this moment (proc(5)).
func processorTime() (u usage) {
	machine, _ := os.ReadFile("/proc/stat")
	process, _ := os.ReadFile("/proc/self/stat")
	line, _, _ := bytes.Cut(machine, []byte("\n"))
	for i, field := range bytes.Fields(line) {
		ticks, err := strconv.ParseFloat(string(field), 64)
		if err != nil || i > 8 { // the name; and what the others include
			continue
		}
		u.all += ticks
		if i == 4 || i == 5 {
			u.idle += ticks
		}
	}
	if fields := bytes.Fields(process[bytes.LastIndexByte(process, ')')+1:]); len(fields) > 12 {
		for _, field := range fields[11:13] {
			ticks, _ := strconv.ParseFloat(string(field), 64)
			u.own += ticks
		}
	}
	return u
}

// others is the share of the processors that other programs have used since then.
func (u usage) others(since usage) float64 {
	all := u.all - since.all
	if all <= 0 {
		return 0
	}
	return max(0, all-(u.idle-since.idle)-(u.own-since.own)) / all
}

// canary is a client that must not notice anything: a subscription over an
// encrypted channel, with values that are written all the time.
type canary struct {
	conn   *client.Client
	values []*addrspace.Variable
	seen   []atomic.Int64
	faults atomic.Int32
	late   atomic.Int64 // the greatest age of a value when it came, in ns
	ages   [canaryAges]atomic.Int64
	end    chan struct{}
	ended  chan struct{}
	began  usage

	mu    sync.Mutex
	texts []string // about the first faults
}

const canaryItems = 100

// The ages of values are counted in steps of 10 ms; what is older than the last
// step is counted there.
const (
	canaryStep = 10 * time.Millisecond
	canaryAges = 500
)

// percentile returns the age, rounded up to a step, that so many percent of all
// values did not exceed.
func (c *canary) percentile(percent int64) time.Duration {
	total, below := int64(0), int64(0)
	for i := range c.ages {
		total += c.ages[i].Load()
	}
	for i := range c.ages {
		if below += c.ages[i].Load(); below*100 >= total*percent {
			return time.Duration(i+1) * canaryStep
		}
	}
	return 0
}

// watch lets a canary live until the test ends.
func (x *target) watch() {
	x.tb.Helper()
	store, err := pki.Memory(pki.Config{ApplicationURI: "urn:test:canary", AcceptAll: true})
	if err != nil {
		x.tb.Fatal(err)
	}
	x.watchAs(store)
}

// watchAs is watch for a canary with a certificate of its own.
func (x *target) watchAs(store *pki.Store) {
	x.tb.Helper()
	c := &canary{seen: make([]atomic.Int64, canaryItems), end: make(chan struct{}), ended: make(chan struct{}), began: processorTime()}
	items := make([]client.MonitorItem, canaryItems)
	for i := range items {
		v := x.variable("canary"+string(rune('A'+i)), int64(0))
		c.values = append(c.values, v)
		items[i] = client.MonitorItem{Node: v.Node().ID(), Queue: 100, Sampling: -1, Tag: i}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	var err error
	c.conn, err = client.Connect(ctx, x.url, client.Config{
		PKI: store, TrustAll: true,
		Security: client.Security{Policy: client.PolicyBasic256Sha256, Mode: ua.MessageSecurityModeSignAndEncrypt},
	})
	if err != nil {
		x.tb.Fatal(err)
	}
	sub, err := c.conn.Subscribe(ctx, client.SubscriptionConfig{Interval: 100 * time.Millisecond, LifetimeCount: 600})
	if err != nil {
		x.tb.Fatal(err)
	}
	if _, err := sub.Monitor(ctx, c.changed, items...); err != nil {
		x.tb.Fatal(err)
	}
	x.canary = c
	go c.write()
}

// write counts every value up every 100 ms.
func (c *canary) write() {
	defer close(c.ended)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for n := int64(1); ; n++ {
		for _, v := range c.values {
			v.Store(ua.DataValue{Value: ua.VariantOf(n), SourceTimestamp: ua.DateTimeOf(time.Now())})
		}
		select {
		case <-tick.C:
		case <-c.end:
			return
		}
	}
}

func (c *canary) changed(ch client.Change) {
	n, _ := ua.As[int64](ch.Value.Value)
	before := c.seen[ch.Item.Tag.(int)].Swap(n)
	if before != 0 && n != before+1 || ch.Value.Status != ua.Good {
		if c.faults.Add(1) <= 10 {
			c.mu.Lock()
			c.texts = append(c.texts, fmt.Sprintf("item %d: %d after %d, %v", ch.Item.Tag, n, before, ch.Value.Status))
			c.mu.Unlock()
		}
	}
	age := max(time.Since(ch.Value.SourceTimestamp.Time()), 0)
	c.ages[min(int(age/canaryStep), canaryAges-1)].Add(1)
	if int64(age) > c.late.Load() {
		c.late.Store(int64(age))
	}
}

// stop checks that all values came, each once.
func (c *canary) stop(tb testing.TB) {
	if c == nil {
		return
	}
	tb.Helper()
	close(c.end)
	<-c.ended
	v, _ := ua.As[int64](c.values[0].Load().Value)
	eventually(tb, "the canary has the last values", func() bool {
		for i := range c.seen {
			if c.seen[i].Load() != v {
				return false
			}
		}
		return true
	})
	if n := c.faults.Load(); n > 0 {
		tb.Errorf("the canary misses values in %d places: %q, %+v", n, c.texts, c.conn.Stats())
	}
	if n := c.conn.Stats().Reconnects; n > 0 {
		tb.Errorf("the canary lost its connection %d times", n)
	}
	p99, others := c.percentile(99), processorTime().others(c.began)
	tb.Logf("canary: 99 %% of the values came within %v, all within %v; %.0f %% of the processors did something else",
		p99, time.Duration(c.late.Load()).Round(time.Millisecond), 100*others)
	bound := time.Second
	if others > 0.2 { // other tests, mostly: then it is not the server alone that is measured
		bound = 3 * time.Second
	}
	if p99 > bound && !raceEnabled {
		tb.Errorf("99 %% of the canary's values came within %v, not %v", p99, bound)
	}
	if late := time.Duration(c.late.Load()); late > 5*time.Second {
		tb.Errorf("the canary got a value after %v", late)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := c.conn.Close(ctx); err != nil {
		tb.Errorf("closing the canary: %v", err)
	}
}

// memory watches the heap while something happens.
type memory struct {
	before uint64
	peak   atomic.Uint64
	end    chan struct{}
	ended  chan struct{}
}

func heap(collect bool) uint64 {
	if collect {
		runtime.GC()
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// settled returns the counters of sessions once nothing moves them any more: what
// was answered is counted a moment later.
func (x *target) settled() sessionactor.Stats {
	for last := x.server.Stats().Sessions; ; {
		time.Sleep(30 * time.Millisecond)
		now := x.server.Stats().Sessions
		if now == last {
			return now
		}
		last = now
	}
}

// measure begins to watch the heap.
func measure() *memory {
	m := &memory{before: heap(true), end: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(m.ended)
		for {
			if now := heap(false); now > m.peak.Load() {
				m.peak.Store(now)
			}
			select {
			case <-time.After(10 * time.Millisecond):
			case <-m.end:
				return
			}
		}
	}()
	return m
}

// check ends the watch: the heap must not have grown by more than most at any
// time, nor have kept more than rest, in MiB.
func (m *memory) check(tb testing.TB, most, rest int) {
	tb.Helper()
	close(m.end)
	<-m.ended
	peak, after := int(m.peak.Load()-min(m.before, m.peak.Load()))>>20, heap(true)
	kept := int(after-min(m.before, after)) >> 20
	tb.Logf("heap: %d MiB at most, %d MiB kept", peak, kept)
	if peak > most && !raceEnabled {
		tb.Errorf("the heap grew by %d MiB, more than %d", peak, most)
	}
	if kept > rest {
		tb.Errorf("%d MiB are kept, more than %d", kept, rest)
	}
}

// insides are texts that only the inside of the server has: of its sources, its
// stacks, its files and the errors of its packages.
var insides = [][]byte{
	[]byte(".go:"), []byte("goroutine "), []byte("runtime."), []byte("runtime error"), []byte("panic"), []byte("/home/"), []byte("/usr/"),
	[]byte("/tmp/"), []byte("uahive/"), []byte("codec: "), []byte("uasc: "), []byte("ua: "), []byte("pki: "), []byte("addrspace: "), []byte("crypto/"),
	[]byte("x509:"), []byte("asn1:"), []byte("0xc000"), []byte("context deadline"), []byte("context canceled"), []byte("unexpected EOF"),
}

// inspect looks at every answer that any peer of this package gets (threats D10 and
// V16): nothing of the inside, no diagnostics, and no text of the server but when
// to come back.
func inspect(tb testing.TB, answer ua.Structure, raw []byte) {
	tb.Helper()
	inspected.Add(1)
	leaks(tb, raw)
	if r, ok := answer.(ua.Response); ok {
		h := r.Header()
		for _, text := range h.StringTable {
			if !comeBack.MatchString(text) {
				tb.Errorf("%T tells %.200q", answer, text)
			}
		}
	}
}

var (
	inspected atomic.Int64
	comeBack  = regexp.MustCompile(`^retry-after=[0-9.hms]+$`)
)

// leaks fails the test when an answer holds texts that say something about the
// inside of the server.
func leaks(tb testing.TB, answer []byte) {
	tb.Helper()
	for _, text := range insides {
		if bytes.Contains(answer, text) {
			tb.Errorf("an answer holds %q: %.2000q", text, answer)
		}
	}
}

// ended reads what comes until the server ends the connection, and returns the
// code of its Error message, 0 when there is none.
func ended(tb testing.TB, p *rawpeer.Peer) ua.StatusCode {
	tb.Helper()
	for {
		_, _, err := p.Next(p.Config.Patience)
		var (
			e    *uasc.ErrorMessage
			code ua.StatusCode
		)
		switch {
		case errors.Is(err, rawpeer.ErrQuiet):
			tb.Fatal("the connection goes on")
		case errors.As(err, &e):
			if e.Reason != "" && e.Code != ua.BadTcpServerTooBusy {
				tb.Errorf("the Error message tells a reason: %q", e.Reason)
			}
			return e.Code
		case err != nil && !errors.As(err, &code):
			return 0
		}
	}
}
