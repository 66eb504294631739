package conformance

import (
	"bytes"
	"fmt"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/addrspace"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// The cases of this file depend on how the server uses sockets, which it does in
// another way than connections in memory: it waits for bytes without a buffer,
// and sends from where the answer was made.

// Case C17 on a socket: byte by byte, and many in one segment.
func TestCaseC17_OnASocket(t *testing.T) {
	w := onTCP(t)
	w.variable("v", "the value")
	p := w.bare(rawpeer.Config{})
	p.Conn.(*net.TCPConn).SetNoDelay(true)
	for _, b := range helloFrame() {
		p.Write([]byte{b})
	}
	if f := p.Frame(); string(f[:3]) != "ACK" {
		t.Fatalf("%q", f[:3])
	}
	p = w.dial()
	s := p.Session()
	read := func() (uint32, []byte) {
		id := s.NextID()
		return id, s.Seal(uasc.TypeMessage, id, s.Prepare(s.Token, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node("v"))}}))
	}
	id, b := read()
	for i := range b {
		s.Write(b[i : i+1])
	}
	rawpeer.Wait[*ua.ReadResponse](s, id)
	var ids []uint32
	var all []byte
	for range 500 {
		id, b := read()
		ids, all = append(ids, id), append(all, b...)
	}
	s.Write(all)
	for _, id := range ids {
		if got, _ := ua.As[string](rawpeer.Wait[*ua.ReadResponse](s, id).Results[0].Value); got != "the value" {
			t.Fatalf("read %q", got)
		}
	}
}

// Large values in both directions, in many chunks, plain and encrypted.
func TestLargeMessagesOnASocket(t *testing.T) {
	w := onTCP(t)
	w.variable("v", []byte{})
	for _, config := range []rawpeer.Config{{}, w.secure(clientPKI(t, clientKey()), uasc.ModeSignAndEncrypt)} {
		s := w.dialWith(config).Session()
		for _, size := range []int{0, 1, 8_000, 65_000, 66_000, 1_000_000, 3_000_000} {
			value := bytes.Repeat([]byte{byte(size)}, size)
			expect(t, fmt.Sprint("write ", size), writeValue(t, s, w.node("v"), value), ua.Good)
			if got, _ := ua.As[[]byte](readValue(s, w.node("v")).Value); !bytes.Equal(got, value) {
				t.Errorf("%d bytes came back as %d", size, len(got))
			}
		}
	}
}

// Case C16 on a socket: the kernel's buffers are full, and the deadline counts.
func TestCaseC16_OnASocket(t *testing.T) {
	w := onTCP(t, func(c *uahive.Config) { c.Limits.Channels.WriteTimeout = 300 * time.Millisecond })
	w.variable("v", make([]byte, 1_000_000))
	slow, good := w.session(), w.session()
	slow.Conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	start := time.Now()
	slow.Conn.SetWriteDeadline(start.Add(10 * time.Second))
	var err error
	for err == nil { // asks for more and more, and reads nothing
		id := slow.NextID()
		_, err = slow.Conn.Write(slow.Seal(uasc.TypeMessage, id,
			slow.Prepare(slow.Token, &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node("v"))}})))
		readValue(good, serverNode)
	}
	if took := time.Since(start); took > 9*time.Second { // a busy machine may take its time
		t.Errorf("closed after %v: %v", took, err)
	}
	for w.Stats().Channels.Channels > 1 && time.Since(start) < 15*time.Second {
		readValue(good, serverNode)
	}
	if stats := w.Stats().Channels; stats.Channels != 1 || stats.SlowClosed != 1 {
		t.Errorf("%+v", stats)
	}
	readValue(good, w.node("v"))
}

// Notifications arrive over a socket, and a shutdown ends it.
func TestSubscriptionAndShutdownOnASocket(t *testing.T) {
	w := onTCP(t)
	v := w.variable("v", int32(0))
	s := w.session()
	watch(t, s, subscribe(s, 10), monitor(w.node("v"), 1))
	for i := int32(1); i <= 20; i++ {
		v.Store(ua.DataValue{Value: ua.VariantOf(i)})
		for {
			if got := values(changes(t, publish(s))); len(got) == 1 && got[0] == fmt.Sprint(i) {
				break
			}
		}
	}
	w.cancel()
	expect(t, "the end", s.Refusal(), ua.BadShutdown)
	w.stop()
	if left := w.Stats().Goroutines; len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// A Read sees all of a transaction or nothing of it, though the program writes
// without a pause, and so does each message of a subscription.
func TestCoherentChangesWhileWriting(t *testing.T) {
	w := onTCP(t)
	s := w.session()
	var vars []*addrspace.Variable
	var items []ua.MonitoredItemCreateRequest
	var reads []ua.ReadValueID
	for i := range uint32(50) {
		name := fmt.Sprint("v", i)
		vars = append(vars, w.variable(name, int32(0)))
		items = append(items, monitor(w.node(name), i))
		reads = append(reads, valueOf(w.node(name)))
	}
	watch(t, s, subscribe(s, 10), items...)
	publish(s)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for n := int32(1); ; n++ {
			select {
			case <-stop:
				return
			default:
			}
			w.Space().Update(func(tx *addrspace.Tx) error {
				for _, v := range vars {
					tx.Set(v, ua.VariantOf(n))
				}
				return nil
			})
			runtime.Gosched() // else a machine of one core does little else
		}
	}()
	defer func() {
		close(stop)
		<-done
	}()
	for i := range 300 {
		results := rawpeer.Do[*ua.ReadResponse](s, &ua.ReadRequest{NodesToRead: reads}).Results
		for k := range results {
			if !results[k].Value.Equal(results[0].Value) {
				t.Fatalf("a Read saw %v and %v", results[0].Value, results[k].Value)
			}
		}
		if i%10 != 0 {
			continue
		}
		list := changes(t, publish(s))
		for k := range list {
			if !list[k].Value.Value.Equal(list[0].Value.Value) {
				t.Fatalf("a message with %v and %v", list[0].Value, list[k].Value)
			}
		}
	}
}
