//go:build unix

package channelactor

import (
	"bytes"
	"encoding/binary"
	"net"
	"os"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
	"github.com/uahive/uahive/internal/fuzzguard"
)

// FuzzStream: whatever a peer sends, in whatever pieces, its connection ends with it and
// nothing is left behind.
func FuzzStream(f *testing.F) {
	hello := uasc.Limits{}.Hello("opc.tcp://localhost:4840")
	msg := func(kind byte, size int) []byte {
		b := append([]byte("MSG"), kind)
		b = append(b, byte(size), byte(size>>8), byte(size>>16), 0)
		return append(b, make([]byte, size-8)...)
	}
	f.Add(false, hello.AppendTo(nil), []byte{1})
	f.Add(false, append(hello.AppendTo(nil), "OPNF\x20\x00\x00\x00"...), []byte{255, 3})
	f.Add(false, []byte("GET / HTTP/1.1\r\n\r\n"), []byte{})
	f.Add(true, bytes.Join([][]byte{msg('F', 24), msg('C', 100), msg('F', 50), msg('A', 32), msg('C', 24)}, nil), []byte{7})
	f.Add(true, append(msg('C', 40), "CLOF\x18\x00\x00\x000000000000000000"...), []byte{200, 1})
	f.Add(true, append(msg('F', 30), "OPNF\x84\x00\x00\x000000"...), []byte{30, 30, 2})
	for _, kind := range []ua.SecurityTokenRequestType{ua.SecurityTokenRequestTypeIssue, ua.SecurityTokenRequestTypeRenew} {
		request := AppendMessage(nil, &ua.OpenSecureChannelRequest{RequestType: kind, SecurityMode: ua.MessageSecurityModeNone, RequestedLifetime: 1000})
		open, err := uasc.SealAsymmetric(nil, uasc.PolicyNone, nil, nil, nil, nil, 0, 1, 1, request)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(false, append(hello.AppendTo(nil), open...), []byte{40})
		f.Add(true, slices.Concat(msg('C', 30), open, msg('F', 30), open), []byte{})
	}
	w := newWorld(f, Limits{MaxMessage: minBuffer, UnprovenMessage: minBuffer, MaxChunks: 8})
	w.t = fuzzing{f}
	// Both ends' buffers may come from the heap, if others have emptied the pools.
	bounds := fuzzguard.Bounds{Base: 8 << 20}
	f.Fuzz(fuzzguard.Guard(f, bounds, func(t *testing.T, live bool, data, cuts []byte) {
		p := w.peer(w.pair(), uasc.PolicyNone, uasc.ModeNone)
		p.t = t
		if live {
			p.connect()
			p.patch(data)
		}
		for _, n := range cuts {
			n := min(int(n), len(data))
			if _, err := p.conn.Write(data[:n]); err != nil {
				break
			}
			data = data[n:]
		}
		p.conn.Write(data)
		p.conn.Close()
		deadline := time.Now().Add(10 * time.Second)
		for w.admission.len() > 0 || w.budget.Used() != 0 { // Stats would allocate in this loop
			if time.Now().After(deadline) {
				t.Fatalf("left behind: %+v", w.Stats())
			}
			runtime.Gosched()
		}
		if n := w.Stats().Panics; n > 0 {
			t.Fatal("a panic")
		}
	}))
}

// patch gives the frames in data the ids and sequence numbers that they need to
// be looked into.
func (p *peer) patch(data []byte) {
	for len(data) >= 24 {
		size := int(data[4]) | int(data[5])<<8
		put := func(at int, v uint32) { binary.LittleEndian.PutUint32(data[at:], v) }
		if kind := string(data[:3]); kind == "MSG" || kind == "CLO" {
			put(8, p.id)
			put(12, p.token.ID)
			put(16, p.sealer.NextSequence())
		} else if at := 24 + int(data[12]); kind == "OPN" && at+4 <= len(data) {
			put(8, p.id)
			put(at, p.sealer.NextSequence())
		}
		if size < 24 || size > len(data) {
			return
		}
		data = data[size:]
	}
}

// fuzzing stands for a testing.F in what is called from within its target.
type fuzzing struct{ testing.TB }

func (fuzzing) Helper()        {}
func (fuzzing) Cleanup(func()) {}

// pair admits one end of a pair of sockets and returns the other. They are read
// and written as connections are, and use up no port.
func (w *world) pair() net.Conn {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, fd := range fds {
		file := os.NewFile(uintptr(fd), "")
		ends[i], err = net.FileConn(file)
		file.Close()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.admit(ends[0])
	return ends[1]
}

// A connection that comes in while the server closes does not stay behind.
func TestThreat_R5_AcceptedWhileClosing(t *testing.T) {
	w := newWorld(t, Limits{})
	w.Close(ua.BadShutdown)
	late := w.peer(w.pair(), uasc.PolicyNone, uasc.ModeNone)
	if code := late.refusal(); code != ua.BadShutdown {
		t.Errorf("told %v", code)
	}
	w.group.Close()
	later := w.pair()
	if n, err := later.Read(make([]byte, 1)); err == nil {
		t.Errorf("%d bytes", n)
	}
	if n := w.Stats().Channels; n > 1 {
		t.Errorf("%d channels", n)
	}
}
