package main

import (
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// largest bounds a message, so that a stray connection cannot make the server take memory without end.
const largest = 64 << 20

// terms are what a client says first on a connection: how long the requests are, how long the answers have to be, and
// whether each answer leaves with a write of its own or all that one read brought in leave with one. With a push
// interval, in milliseconds, requests are held, and one of each connection is answered when a timer of the server goes
// off.
type terms struct {
	request, response int
	each              bool
	push              int
}

const termsSize = 16

func (t terms) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(t.request))
	b = binary.LittleEndian.AppendUint32(b, uint32(t.response))
	each := uint32(0)
	if t.each {
		each = 1
	}
	b = binary.LittleEndian.AppendUint32(b, each)
	return binary.LittleEndian.AppendUint32(b, uint32(t.push))
}

func readTerms(r io.Reader) (t terms, err error) {
	var b [termsSize]byte
	if _, err = io.ReadFull(r, b[:]); err != nil {
		return t, err
	}
	t.request = int(binary.LittleEndian.Uint32(b[:]))
	t.response = int(binary.LittleEndian.Uint32(b[4:]))
	t.each = binary.LittleEndian.Uint32(b[8:]) != 0
	t.push = int(binary.LittleEndian.Uint32(b[12:]))
	return t, t.check()
}

func (t terms) check() error {
	if t.request < 1 || t.response < 1 || t.request > largest || t.response > largest {
		return fmt.Errorf("a request of %d and an answer of %d bytes", t.request, t.response)
	}
	if t.push < 0 || t.push > 60_000 {
		return fmt.Errorf("a push interval of %d ms", t.push)
	}
	return nil
}

// readSize is how much one read takes: what a server of small messages would offer, and more where a message is large.
func readSize(message int) int { return min(max(64<<10, message), 256<<10) }

func serve(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("echo serve", flag.ContinueOnError)
	address := flags.String("listen", "127.0.0.1:0", "address to listen on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	fmt.Printf("ready %s pid %d\n", l.Addr(), os.Getpid())
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		go answer(conn)
	}
}

// answers are what all connections send from, as a server may whose clients read the same value: a buffer for each would
// cost the caches more than OPC UA does.
var answers = make([]byte, 4<<20)

// answer serves one connection until its client leaves. Where a read ends within a message, the rest counts with the
// next read, so that nothing has to be copied.
func answer(conn net.Conn) {
	defer conn.Close()
	t, err := readTerms(conn)
	if err != nil {
		return
	}
	in := make([]byte, readSize(t.request))
	out := answers
	if t.response > len(out) {
		out = make([]byte, t.response)
	}
	var held *holder
	if t.push > 0 {
		held = hold(conn, out[:t.response], time.Duration(t.push)*time.Millisecond)
		defer held.drop()
	}
	pending := 0
	for {
		n, err := conn.Read(in)
		if err != nil {
			return
		}
		pending += n
		due := pending / t.request
		pending %= t.request
		if held != nil {
			held.requests.Add(int64(due))
			continue
		}
		if due == 0 {
			continue
		}
		if !t.each && due*t.response > len(out) {
			out = make([]byte, due*t.response)
		}
		if err := send(conn, out, due, t); err != nil {
			return
		}
	}
}

// send writes a number of messages from a buffer that has room for all of them, or for one where each is written alone.
func send(conn net.Conn, buffer []byte, count int, t terms) error {
	if !t.each {
		_, err := conn.Write(buffer[:count*t.response])
		return err
	}
	for range count {
		if _, err := conn.Write(buffer[:t.response]); err != nil {
			return err
		}
	}
	return nil
}
