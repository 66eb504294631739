package channelactor

import (
	"encoding/binary"
	"testing"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/codec/uasc"
)

// Answers that one goroutine gives leave in its order, whoever holds the send
// state meanwhile: readers with batches, the actor, a renewal of the token.
func TestAnswersOfOneSenderKeepTheirOrder(t *testing.T) {
	const late = 1 << 20 // request ids from here on are the sender's
	// The sender asks nobody how fast it may be: all of its answers may be queued at once, each in 4 KiB.
	w := newWorld(t, Limits{MaxSendQueueBytes: 256 << 20})
	address := w.listen()
	for _, s := range []suite{{uasc.PolicyNone, uasc.ModeNone}, {uasc.Basic256Sha256, uasc.ModeSignAndEncrypt}} {
		t.Run(s.String(), func(t *testing.T) {
			p := w.peer(dial(t, address), s.policy, s.mode).connect()
			p.write(p.seal(1, []byte("x")))
			p.answer()
			w.echo.mu.Lock()
			channel := w.echo.last
			w.echo.mu.Unlock()

			const answers, renewals = 20_000, 20
			done := make(chan struct{})
			go func() {
				defer close(done)
				for i := range uint32(answers) {
					if err := channel.Respond(late+i, raw(binary.LittleEndian.AppendUint32(nil, i))); err != nil {
						t.Error(err)
						return
					}
				}
			}()
			go func() {
				for i := range renewals {
					p.write(p.sealOpen(ua.SecurityTokenRequestTypeRenew, p.policy.Nonce(), 60_000))
					for range 50 {
						p.write(p.seal(uint32(i+2), make([]byte, 200)))
					}
				}
			}()
			next, others := uint32(late), 0
			for next < late+answers || others < renewals*50 {
				frame := p.frame()
				if string(frame[:3]) == "OPN" {
					p.skipOpen(frame)
					continue
				}
				m, err := p.opener.Open(frame)
				if err != nil {
					t.Fatal(err)
				}
				if m.RequestID < late {
					others++
					continue
				}
				if m.RequestID != next {
					t.Fatalf("answer %d came where %d was due", m.RequestID-late, next-late)
				}
				next++
			}
			<-done
		})
	}
}

// skipOpen takes an OPN response that nobody uses: only its sequence number counts.
func (p *peer) skipOpen(frame []byte) {
	p.t.Helper()
	header, err := uasc.ParseOpen(frame)
	if err != nil {
		p.t.Fatal(err)
	}
	var seq uint32
	if p.own == nil {
		seq, _, _, err = uasc.OpenAsymmetric(header, p.policy, nil, nil, frame)
	} else {
		seq, _, _, err = uasc.OpenAsymmetric(header, p.policy, p.own.Certificate().Key, p.server.Certificate().Key.Public(), frame)
	}
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.opener.AcceptSequence(seq); err != nil {
		p.t.Fatal(err)
	}
}
