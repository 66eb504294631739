package conformance

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uahive/uahive"
	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/test/internal/rawpeer"
)

// chunk makes a chunk of a MSG by hand, under SecurityPolicy None.
func chunk(p *rawpeer.Peer, kind byte, size int, requestID uint32) []byte {
	b := make([]byte, size)
	copy(b, "MSG")
	b[3] = kind
	for i, n := range []uint32{uint32(size), p.Channel, p.Token.ID, p.Sealer.NextSequence(), requestID} {
		binary.LittleEndian.PutUint32(b[4+4*i:], n)
	}
	return b
}

// A message that never ends is refused at the limit of the channel, and what all
// channels hold of unfinished ones is bounded (Part 6, 6.7.2 and 7.1.2.4). Case
// C14: most servers of a round of advisories kept what came before any session.
func TestCaseC14_EndlessChunksBeforeASession(t *testing.T) {
	for _, size := range []int{65_535, 24} { // also by count, with empty bodies
		t.Run(fmt.Sprintf("chunks of %d bytes", size), func(t *testing.T) {
			inTime(t, func(t *testing.T, w *world) {
				p := w.dial()
				sent := 0
				for {
					if _, err := p.Conn.Write(chunk(p, 'C', size, 1)); err != nil {
						break
					}
					sent += size
					if sent > 64<<20 {
						t.Fatal("64 MiB were taken")
					}
					synctest.Wait()
				}
				expect(t, "refusal", p.Refusal(), ua.BadTcpMessageTooLarge)
				synctest.Wait()
				if n := w.Stats().Channels.AssemblyBytes; n != 0 {
					t.Errorf("%d bytes are still held", n)
				}
			})
		})
	}
}

// Many peers that each stay below the limit are bounded together. Case C14.
func TestCaseC14_UnfinishedMessagesOfAllChannels(t *testing.T) {
	const budget = 10 << 20
	inTime(t, func(t *testing.T, w *world) {
		refused := 0
		for range 20 {
			p := w.dial()
			for range 16 { // 1 MiB each
				if _, err := p.Conn.Write(chunk(p, 'C', 65_535, 1)); err != nil {
					break
				}
				synctest.Wait()
				if n := w.Stats().Channels.AssemblyBytes; n > budget {
					t.Fatalf("%d bytes are held", n)
				}
			}
			if _, _, err := p.Next(time.Millisecond); !errors.Is(err, rawpeer.ErrQuiet) {
				refused++
			}
		}
		if refused == 0 {
			t.Error("nobody was refused")
		}
		w.session() // and others work
	}, func(c *uahive.Config) { c.Limits.Channels.AssemblyBytes = budget })
}

// A chunk whose header names an impossible size is refused on its first eight
// bytes (Part 6, 7.1.2.2). Case C15: servers waited for 2 GiB, allocated them, or
// turned in circles at a size of 0.
func TestCaseC15_ImpossibleMessageSizes(t *testing.T) {
	sizes := []uint32{0, 1, 2, 3, 4, 5, 6, 7, 65_536, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32}
	header := func(kind string, size uint32) []byte { return binary.LittleEndian.AppendUint32([]byte(kind), size) }
	inTime(t, func(t *testing.T, w *world) {
		for _, size := range sizes {
			bare := w.bare(rawpeer.Config{})
			bare.Write(header("HELF", size))
			expect(t, fmt.Sprintf("HEL of %d bytes", size), bare.Refusal(), ua.BadTcpMessageTooLarge)

			hello := w.bare(rawpeer.Config{})
			hello.Hello()
			hello.Write(header("OPNF", size))
			expect(t, fmt.Sprintf("OPN of %d bytes", size), hello.Refusal(), ua.BadTcpMessageTooLarge)

			for _, kind := range []string{"MSGF", "MSGC", "MSGA", "OPNF", "CLOF"} {
				p := w.dial()
				p.Write(header(kind, size))
				expect(t, fmt.Sprintf("%s of %d bytes", kind, size), p.Refusal(), ua.BadTcpMessageTooLarge)
			}
		}
		synctest.Wait()
		if n := w.Stats().Channels.Channels; n != 0 {
			t.Errorf("%d channels are left", n)
		}
	})
}

// A client that stops reading is closed when a write has waited for the write
// time-out, and nobody else notices. Case C16: one such client blocked the
// writers, the sessions, or the value changes of all.
func TestCaseC16_AClientThatStopsReading(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		v := w.variable("v", bytes.Repeat([]byte{1}, 100_000))
		w.net.Buffer = 8 << 10
		slow := w.session()
		w.net.Buffer = 0
		good := w.session()
		for _, s := range []*rawpeer.Session{slow, good} {
			watch(t, s, subscribe(s, 100), monitor(w.node("v"), 1))
		}
		for range 20 {
			slow.Start(&ua.PublishRequest{})
		}
		start := time.Now()
		var closed time.Duration
		for i := byte(0); i < 150; i++ {
			v.Store(ua.DataValue{Value: ua.VariantOf(bytes.Repeat([]byte{i}, 100_000))})
			cycle := time.Now()
			if list := changes(t, publish(good)); len(list) != 1 {
				t.Fatalf("cycle %d: %d changes", i, len(list))
			}
			if took := time.Since(cycle); took > 100*time.Millisecond {
				t.Fatalf("cycle %d took %v", i, took)
			}
			if closed == 0 && w.Stats().Channels.SlowClosed > 0 {
				closed = time.Since(start)
			}
		}
		if closed < 10*time.Second || closed > 11*time.Second {
			t.Errorf("the slow client was closed after %v", closed)
		}
		if n := w.Stats().Channels.Channels; n != 1 {
			t.Errorf("%d channels", n)
		}
	})
}

// Where a stream is cut does not matter. Case C17: servers that took one read
// for one message failed behind slow links.
func TestCaseC17_TheSameBytesCutAnywhere(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		hello := helloFrame()
		open := func(p *rawpeer.Peer) []byte {
			return p.SealOpen(&ua.OpenSecureChannelRequest{SecurityMode: ua.MessageSecurityModeNone, RequestedLifetime: 60_000})
		}
		// Hello and OpenSecureChannel, in two parts each.
		ack := w.bare(rawpeer.Config{}).Hello()
		for cut := range hello {
			p := w.bare(rawpeer.Config{})
			write(p, hello[:cut], hello[cut:])
			var got uasc.Acknowledge
			if err := got.Decode(p.Frame()); err != nil || got != ack {
				t.Fatalf("Hello cut at %d: %+v, %v", cut, got, err)
			}
		}
		for cut := range open(w.bare(rawpeer.Config{})) {
			p := w.bare(rawpeer.Config{})
			p.Hello()
			b := open(p)
			write(p, b[:cut], b[cut:])
			if f := p.Frame(); string(f[:3]) != "OPN" {
				t.Fatalf("OpenSecureChannel cut at %d: %q", cut, f[:3])
			}
		}
		// Both in one segment, and byte by byte.
		for _, one := range []bool{false, true} {
			p := w.bare(rawpeer.Config{})
			both := append(bytes.Clone(hello), open(p)...)
			if one {
				write(p, bytes.SplitAfter(both, nil)...)
			} else {
				write(p, both)
			}
			if f := p.Frame(); string(f[:3]) != "ACK" {
				t.Fatalf("%q", f[:3])
			}
			if f := p.Frame(); string(f[:3]) != "OPN" {
				t.Fatalf("%q", f[:3])
			}
		}
		// A request: cut at every position, byte by byte, three in one segment.
		w.variable("v", "the value")
		s := w.session()
		read := func(handle uint32) []byte {
			req := &ua.ReadRequest{NodesToRead: []ua.ReadValueID{valueOf(w.node("v"))}}
			req.RequestHeader.RequestHandle = handle
			return s.Prepare(s.Token, req)
		}
		want := rawpeer.Encode(s.Wait(s.SendBody(read(7))))
		check := func(what string, id uint32) {
			t.Helper()
			if got := rawpeer.Encode(s.Wait(id)); !bytes.Equal(got, want) {
				t.Fatalf("%s: another answer\n%x\n%x", what, got, want)
			}
		}
		for cut := 1; ; cut++ {
			id := s.NextID()
			b := s.Seal(uasc.TypeMessage, id, read(7))
			if cut >= len(b) {
				write(s.Peer, bytes.SplitAfter(b, nil)...)
				check("byte by byte", id)
				break
			}
			write(s.Peer, b[:cut], b[cut:])
			check(fmt.Sprintf("cut at %d", cut), id)
		}
		var three []byte
		var ids []uint32
		for range 3 {
			ids = append(ids, s.NextID())
			three = append(three, s.Seal(uasc.TypeMessage, ids[len(ids)-1], read(7))...)
		}
		write(s.Peer, three)
		for _, id := range ids {
			check("three in one segment", id)
		}
	})
}

func helloFrame() []byte {
	hello := uasc.Limits{}.Hello("opc.tcp://localhost:4840")
	return hello.AppendTo(nil)
}

// write writes parts that the server sees one by one.
func write(p *rawpeer.Peer, parts ...[]byte) {
	for _, part := range parts {
		p.Write(part)
		synctest.Wait()
	}
}

// Anything but Hello as the first message is refused without reading on (Part 6,
// 7.1.3). Threat T3: port scanners and browsers come by.
func TestWrongFirstMessages(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		for _, first := range []string{
			"GET / HTTP/1.1\r\nHost: plant\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "MSGF\x20\x00\x00\x00",
			"OPNF\x20\x00\x00\x00", "CLOF\x20\x00\x00\x00", "ACKF\x1c\x00\x00\x00", "ERRF\x10\x00\x00\x00", "RHEF\x20\x00\x00\x00",
			"HELC\x20\x00\x00\x00", "HELA\x20\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x00",
		} {
			p := w.bare(rawpeer.Config{})
			p.Write([]byte(first))
			expect(t, fmt.Sprintf("%q", first), p.Refusal(), ua.BadTcpMessageTypeInvalid)
		}
		p := w.dial()
		p.Write(helloFrame())
		expect(t, "a second Hello", p.Refusal(), ua.BadTcpMessageTypeInvalid)
	})
}

// Each stage before an activated session has a deadline that no byte extends
// (Part 2, 5.1.2; threat T1: half-open connections).
func TestSilentPeersAreClosed(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		wait := func(p *rawpeer.Peer, trickle bool) time.Duration {
			start := time.Now()
			for {
				if trickle {
					p.Conn.Write([]byte("H"))
				}
				if _, _, err := p.Next(time.Second); !errors.Is(err, rawpeer.ErrQuiet) {
					return time.Since(start)
				}
				if time.Since(start) > time.Minute {
					return time.Minute
				}
			}
		}
		stages := map[string]func() (*rawpeer.Peer, time.Duration){
			"connected": func() (*rawpeer.Peer, time.Duration) { return w.bare(rawpeer.Config{}), 10 * time.Second },
			"after Hello": func() (*rawpeer.Peer, time.Duration) {
				p := w.bare(rawpeer.Config{})
				p.Hello()
				return p, 10 * time.Second
			},
			"without a session": func() (*rawpeer.Peer, time.Duration) { return w.dial(), 30 * time.Second },
			"not activated": func() (*rawpeer.Peer, time.Duration) {
				p := w.dial()
				p.CreateSession()
				return p, 30 * time.Second
			},
		}
		for name, stage := range stages {
			p, limit := stage()
			if took := wait(p, false); took != limit {
				t.Errorf("%s: closed after %v", name, took)
			}
		}
		p := w.bare(rawpeer.Config{})
		p.Write([]byte("HELF\x20\x00\x00\x00"))
		if took := wait(p, true); took > 11*time.Second {
			t.Errorf("a trickle of bytes: closed after %v", took)
		}
	})
}

// CloseSecureChannel closes the connection without an answer (Part 4, 5.6.3).
func TestCloseSecureChannelHasNoAnswer(t *testing.T) {
	inTime(t, func(t *testing.T, w *world) {
		p := w.dial()
		p.Write(p.Seal(uasc.TypeClose, p.NextID(), p.Prepare(ua.NodeID{}, &ua.CloseSecureChannelRequest{})))
		if _, answer, err := p.Next(time.Second); !errors.Is(err, io.EOF) {
			t.Errorf("%v, %v", answer, err)
		}
	})
}
