package uasc

import (
	"testing"

	"github.com/uahive/uahive/codec/ua"
)

// What each side may receive is what the other may send (Part 6, 7.1.2.3-4), and
// a limit of 0 that a peer sends leaves our own in force (threat S1).
func TestNegotiatedLimitsAgree(t *testing.T) {
	server := Limits{ReceiveBuffer: 32768, SendBuffer: 65535, MaxMessage: 1 << 20, MaxChunks: 40, MaxSendMessage: 9 << 20, MaxSendChunks: 500}
	client := Limits{ReceiveBuffer: 16384, SendBuffer: 65535, MaxMessage: 2 << 20, MaxChunks: 50}
	ack, s, err := Negotiate(server, client.Hello("opc.tcp://a"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Accept(client, ack)
	if err != nil {
		t.Fatal(err)
	}
	if s != (Limits{ReceiveBuffer: 32768, SendBuffer: 16384, MaxMessage: 1 << 20, MaxChunks: 40, MaxSendMessage: 2 << 20, MaxSendChunks: 50}) {
		t.Errorf("server has %+v", s)
	}
	if c != (Limits{ReceiveBuffer: 16384, SendBuffer: 32768, MaxMessage: 2 << 20, MaxChunks: 50, MaxSendMessage: 1 << 20, MaxSendChunks: 40}) {
		t.Errorf("client has %+v", c)
	}

	h := client.Hello("")
	h.MaxMessageSize, h.MaxChunkCount, h.ProtocolVersion = 0, 0, 1<<32-1
	ack, s, err = Negotiate(server, h)
	if err != nil || s.MaxSendMessage != 9<<20 || s.MaxSendChunks != 500 || ack.ProtocolVersion != 0 {
		t.Errorf("a peer without limits gives %+v, %+v, %v", ack, s, err)
	}
	if c, err = Accept(Limits{}, Acknowledge{ReceiveBufferSize: 8192, SendBufferSize: 8192}); err != nil || c.MaxSendMessage != DefaultMaxSendMessage || c.MaxMessage != DefaultMaxMessage {
		t.Errorf("a server without limits gives %+v, %v", c, err)
	}
}

func TestBuffersBelowTheMinimumAreRefused(t *testing.T) {
	for _, n := range []uint32{0, 1, 1024, 8191} {
		_, _, err := Negotiate(Limits{}, Hello{ReceiveBufferSize: n, SendBufferSize: 65535})
		wantCode(t, err, ua.BadConnectionRejected)
		_, _, err = Negotiate(Limits{}, Hello{ReceiveBufferSize: 65535, SendBufferSize: n})
		wantCode(t, err, ua.BadConnectionRejected)
	}
	ack, _, err := Negotiate(Limits{}, Hello{ReceiveBufferSize: 8192, SendBufferSize: 1<<32 - 1})
	if err != nil || ack.SendBufferSize != 8192 || ack.ReceiveBufferSize != DefaultBuffer {
		t.Fatalf("got %+v, %v", ack, err)
	}
}

func TestAcknowledgeIsHeldToTheOffer(t *testing.T) {
	local := Limits{ReceiveBuffer: 16384, SendBuffer: 16384}
	n, err := Accept(local, Acknowledge{ReceiveBufferSize: 65535, SendBufferSize: 1<<32 - 1})
	if err != nil || n.ReceiveBuffer != 16384 || n.SendBuffer != 16384 {
		t.Errorf("more than offered gives %+v, %v", n, err)
	}
	for _, a := range []Acknowledge{
		{ReceiveBufferSize: 8191, SendBufferSize: 16384},
		{ReceiveBufferSize: 16384, SendBufferSize: 0},
	} {
		_, err := Accept(local, a)
		wantCode(t, err, ua.BadConnectionRejected)
	}
	_, err = Accept(local, Acknowledge{ProtocolVersion: 1, ReceiveBufferSize: 8192, SendBufferSize: 8192})
	wantCode(t, err, ua.BadProtocolVersionUnsupported)
}
