package attack

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/client"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/ua/id"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// Connections that come no further are closed at the deadline of their stage,
// however many there are and whatever they drip in; others come in meanwhile.
func TestThreat_T1_HalfOpenConnections(t *testing.T) {
	each := scale(100, 1500)
	x := newTarget(t, onTCP, func(c *uahive.Config) {
		c.Limits.Channels.HelloTimeout, c.Limits.Channels.OpenTimeout = time.Second, time.Second
		c.Limits.Channels.IdleTimeout, c.Limits.Services.ActivationTimeout = time.Second, time.Second
	})
	x.watch()
	m := measure()
	base := x.server.Stats()
	hello := uasc.Limits{}.Hello("opc.tcp://localhost:4840")
	frame := hello.AppendTo(nil)
	stop := make(chan struct{})
	defer close(stop)
	var kept []net.Conn // else they are closed when their memory is
	defer func() { runtime.KeepAlive(kept) }()
	dial := func() net.Conn {
		kept = append(kept, x.dial())
		return kept[len(kept)-1]
	}
	for range each {
		dial() // nothing
		drip := dial()
		go func() {
			for _, b := range frame {
				if _, err := drip.Write([]byte{b}); err != nil {
					return
				}
				select {
				case <-time.After(200 * time.Millisecond):
				case <-stop:
					return
				}
			}
		}()
		dial().Write(frame)                                         // Hello only
		dial().Write(append(bytes.Clone(frame), "OPNF\x84\x00"...)) // and the beginning of an OPN
		kept = append(kept, x.open().Conn)                          // a channel and no session
	}
	x.open().CreateSession() // never activated
	start := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, err := client.Connect(ctx, x.url, client.Config{Security: client.NoSecurity})
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 2*time.Second && !raceEnabled {
		t.Errorf("a client needed %v to come in", d)
	}
	c.Close(ctx)
	eventually(t, "all are closed", func() bool {
		n := x.server.Stats()
		return n.Channels.Channels == base.Channels.Channels && n.Sessions.Sessions == base.Sessions.Sessions &&
			n.Goroutines["reader"] == base.Goroutines["reader"] && n.Goroutines["channel"] == base.Goroutines["channel"]
	})
	if n := x.server.Stats().Channels.TimedOut; n < uint64(4*each) {
		t.Errorf("%d connections missed a deadline", n)
	}
	m.check(t, scale(100, 500), scale(20, 200)) // the peers themselves are kept until the test ends
}

// At the limit of connections those without a session make room, and those with
// one stay.
func TestThreat_T2_ConnectionFlood(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.Limits.Channels.Channels = 30 })
	x.watch()
	old := x.open().Session()
	m := measure()
	for i := range 300 {
		if i%2 == 0 {
			conn := x.dial()
			defer conn.Close()
			continue
		}
		p := x.bare()
		hello := uasc.Limits{}.Hello("opc.tcp://localhost:4840")
		p.Conn.Write(hello.AppendTo(nil))
	}
	for range 5 {
		fresh := x.open().Session()
		fresh.Close()
	}
	m.check(t, 100, 20)
	if code := old.Result(readState()); code != ua.Good {
		t.Errorf("the old session: %v", code)
	}
	n := x.server.Stats().Channels
	if n.Channels > 30 || n.Evicted < 200 {
		t.Errorf("%+v", n)
	}
}

// readState is a Read that every session may do.
func readState() *ua.ReadRequest {
	return &ua.ReadRequest{
		TimestampsToReturn: ua.TimestampsToReturnNeither,
		NodesToRead:        []ua.ReadValueID{{NodeID: ua.NumericID(0, id.Server_ServerStatus_State), AttributeID: ua.AttributeIDValue}},
	}
}

// What is no Hello is refused on its first bytes, without waiting for more.
func TestThreat_T3_WrongFirstMessage(t *testing.T) {
	x := newTarget(t, onTCP)
	for _, first := range []string{
		"MSGF\x20\x00\x00\x00", "OPNF\x84\x00\x00\x00", "CLOF\x18\x00\x00\x00", "ACKF\x1c\x00\x00\x00", "ERRF\x10\x00\x00\x00",
		"RHEF\x20\x00\x00\x00", "HELC\x20\x00\x00\x00", "HELA\x20\x00\x00\x00", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("x", 500), "\x00\x00\x00\x00\x00\x00\x00\x00",
		"SSH-2.0-x\r\n", "hel\x46\x20\x00\x00\x00", strings.Repeat("\xff", 100_000),
	} {
		p := x.bare()
		p.Config.Patience = 5 * time.Second
		p.Conn.Write([]byte(first))
		if code := ended(t, p); code != ua.BadTcpMessageTypeInvalid {
			t.Errorf("%.20q: %v", first, code)
		}
	}
}

// The size in a header is judged before anything is waited for or allocated.
func TestThreat_T4_MessageSizes(t *testing.T) {
	x := newTarget(t, onTCP)
	m := measure()
	for _, size := range []uint32{0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 23, 65_536, 1 << 20, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF} {
		frame := func(kind string) []byte { return binary.LittleEndian.AppendUint32([]byte(kind), size) }
		for _, kind := range []string{"HELF", "OPNF", "MSGF", "MSGC", "MSGA", "CLOF"} {
			p := x.bare()
			p.Config.Patience = 5 * time.Second
			switch kind {
			case "HELF":
			case "OPNF":
				p.Hello()
			default:
				p.Hello()
				p.Use(p.Open(ua.SecurityTokenRequestTypeIssue))
			}
			p.Conn.Write(frame(kind))
			if code := ended(t, p); code != ua.BadTcpMessageTooLarge {
				t.Errorf("%s of %d bytes: %v", kind, size, code)
			}
		}
	}
	m.check(t, 64, 5)
}

// A Hello that cannot be served is refused; one that asks for the impossible gets
// what there is.
func TestThreat_T5_BadHello(t *testing.T) {
	x := newTarget(t, onTCP)
	hello := func(version, receive, send, message, chunks uint32, url string, length int32) []byte {
		b := append([]byte("HELF"), 0, 0, 0, 0)
		for _, v := range []uint32{version, receive, send, message, chunks} {
			b = binary.LittleEndian.AppendUint32(b, v)
		}
		b = binary.LittleEndian.AppendUint32(b, uint32(length))
		b = append(b, url...)
		binary.LittleEndian.PutUint32(b[4:], uint32(len(b)))
		return b
	}
	const url = "opc.tcp://h:1"
	n := int32(len(url))
	for name, bad := range map[string][]byte{
		"no buffers": hello(0, 0, 0, 0, 0, url, n), "small": hello(0, 1, 65_535, 0, 0, url, n), "8191": hello(0, 65_535, 8191, 0, 0, url, n),
		"length -2": hello(0, 65_535, 65_535, 0, 0, url, -2), "too long": hello(0, 65_535, 65_535, 0, 0, url, n+1),
		"rest": hello(0, 65_535, 65_535, 0, 0, url, n-1), "huge": hello(0, 65_535, 65_535, 0, 0, url, 1<<31-1),
		"4097":  hello(0, 65_535, 65_535, 0, 0, strings.Repeat("x", 4097), 4097),
		"utf-8": hello(0, 65_535, 65_535, 0, 0, "opc\xff\xfe\xfd", 6),
	} {
		p := x.bare()
		p.Conn.Write(bad)
		if code := ended(t, p); !code.IsBad() {
			t.Errorf("%s: no Error message", name)
		}
	}
	p := x.bare()
	p.Conn.Write(hello(1<<32-1, 1<<32-1, 1<<32-1, 1<<32-1, 1<<32-1, url, n))
	var ack uasc.Acknowledge
	if err := ack.Decode(p.Frame()); err != nil {
		t.Fatal(err)
	}
	if ack.ProtocolVersion != 0 || ack.ReceiveBufferSize > 65_535 || ack.SendBufferSize > 65_535 || ack.MaxMessageSize == 0 || ack.MaxChunkCount == 0 {
		t.Errorf("%+v", ack)
	}
	p.Conn.Write(hello(0, 65_535, 65_535, 0, 0, url, n))
	if code := ended(t, p); code != ua.BadTcpMessageTypeInvalid {
		t.Errorf("second Hello: %v", code)
	}
}

// It makes no difference how the bytes are cut.
func TestThreat_T6_Segmentation(t *testing.T) {
	x := newTarget(t, onTCP)
	// All at once: Hello and OPN, then three requests and the end.
	p := x.bare()
	hello := p.Config.Limits.Hello(p.Config.URL)
	open := p.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeNone, RequestedLifetime: 60_000})
	p.Write(append(hello.AppendTo(nil), open...))
	if frame := p.Frame(); string(frame[:4]) != "ACKF" {
		t.Fatalf("%q", frame)
	}
	if frame := p.Frame(); string(frame[:4]) != "OPNF" {
		t.Fatalf("%q", frame)
	}
	// Byte by byte, on a channel with security.
	slow := rawpeer.Connect(t, &dripping{x.dial()}, x.secure(uasc.Basic256Sha256, uasc.ModeSignAndEncrypt))
	s := slow.Session()
	if code := s.Result(readState()); code != ua.Good {
		t.Error(code)
	}
	var all []byte
	var ids []uint32
	for range 3 {
		n := slow.NextID()
		ids = append(ids, n)
		all = append(all, slow.Seal(uasc.TypeMessage, n, slow.Prepare(s.Token, readState()))...)
	}
	slow.Conn.(*dripping).Conn.Write(all)
	for _, n := range ids {
		if code := s.ResultOf(n); code != ua.Good {
			t.Error(code)
		}
	}
}

// dripping writes one byte at a time.
type dripping struct{ net.Conn }

func (d *dripping) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := d.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
		runtime.Gosched()
	}
	return len(b), nil
}

// A client that asks for large answers and never reads is closed; its answers do
// not pile up, and others do not notice.
func TestThreat_T7_SlowReader(t *testing.T) {
	x := newTarget(t, onTCP, func(c *uahive.Config) { c.Limits.Channels.WriteTimeout = time.Second })
	x.watch()
	x.variable("large", make([]float64, 100_000))
	m := measure()
	var writers sync.WaitGroup
	for _, nodes := range [][]ua.ReadValueID{
		{{NodeID: ua.StringID(2, "large"), AttributeID: ua.AttributeIDValue}},
		{{NodeID: ua.StringID(2, "large"), AttributeID: ua.AttributeIDValue}, {NodeID: node(waitingNode), AttributeID: ua.AttributeIDValue}},
	} {
		for range 5 {
			p := x.open()
			s := p.Session()
			p.Conn.(*net.TCPConn).SetReadBuffer(4096)
			writers.Add(1)
			go func() {
				defer writers.Done()
				for range 300 {
					b := p.Seal(uasc.TypeMessage, p.NextID(), p.Prepare(s.Token, &ua.ReadRequest{NodesToRead: nodes}))
					p.Conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
					if _, err := p.Conn.Write(b); err != nil {
						return
					}
				}
			}()
		}
	}
	eventually(t, "all are closed", func() bool {
		n := x.server.Stats()
		return n.Channels.SlowClosed >= 10 && n.Goroutines["reader"] == 1 && n.Goroutines["channel"] == 0 && n.Pool.Active == 0
	})
	writers.Wait()
	m.check(t, 500, 20)
}
