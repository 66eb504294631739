package main

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
)

// proxy stands in front of the server. It can cut connections, and it reads
// what no cipher hides: the type and size of a chunk, and the token id of a
// MSG chunk (Part 6, 6.7.2). So it can tell that a channel was renewed and that
// both sides moved to the new token.
type proxy struct {
	target   string
	listener net.Listener

	mu    sync.Mutex
	conns []*proxied
}

// proxied is one connection through the proxy.
type proxied struct {
	client, server net.Conn
	up, down       stream
}

// stream is what was seen in one direction of a connection.
type stream struct {
	mu     sync.Mutex
	opens  int
	tokens []uint32
}

func newProxy(target string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{target: target, listener: l}
	go p.serve()
	return p, nil
}

func (p *proxy) url() string { return "opc.tcp://" + p.listener.Addr().String() }

// serve ends when the listener is closed.
func (p *proxy) serve() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		c := &proxied{client: client, server: server}
		p.mu.Lock()
		p.conns = append(p.conns, c)
		p.mu.Unlock()
		go pump(server, client, &c.up)
		go pump(client, server, &c.down)
	}
}

// pump ends when either side is closed, and closes the other.
func pump(dst, src net.Conn, s *stream) {
	defer dst.Close()
	defer src.Close()
	header := make([]byte, 16)
	for {
		if _, err := io.ReadFull(src, header); err != nil {
			return
		}
		size := int64(binary.LittleEndian.Uint32(header[4:]))
		s.note(string(header[:3]), binary.LittleEndian.Uint32(header[12:]))
		if _, err := dst.Write(header); err != nil {
			return
		}
		if _, err := io.CopyN(dst, src, size-int64(len(header))); err != nil {
			return
		}
	}
}

func (s *stream) note(kind string, token uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case "OPN":
		s.opens++
	case "MSG":
		if n := len(s.tokens); n == 0 || s.tokens[n-1] != token {
			s.tokens = append(s.tokens, token)
		}
	}
}

func (s *stream) seen() (opens int, tokens []uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opens, slices.Clone(s.tokens)
}

// last is the newest connection.
func (p *proxy) last() *proxied {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.conns[len(p.conns)-1]
}

func (p *proxy) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns)
}

// cut resets every connection at once, without a word of the protocol.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		for _, conn := range []net.Conn{c.client, c.server} {
			if tcp, ok := conn.(*net.TCPConn); ok {
				tcp.SetLinger(0)
			}
			conn.Close()
		}
	}
}

func (p *proxy) close() {
	p.listener.Close()
	p.cut()
}
