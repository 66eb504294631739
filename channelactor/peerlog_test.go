package channelactor

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// One peer that is refused a thousand times a second leaves the log about others
// as it was (threats.md V16).
func TestANoisyPeerDoesNotSilenceTheLogAboutOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(lines)
		p := NewPeerLog(zerolog.New(log), zerolog.WarnLevel, 5, 10*time.Second)
		defer p.Close()
		for range 1000 {
			p.Line("192.0.2.1").Str("peer", "192.0.2.1").Msg("refused")
		}
		p.Line("192.0.2.2").Str("peer", "192.0.2.2").Msg("refused")
		if text := log.String(); strings.Count(text, `"192.0.2.1"`) != 5 || strings.Count(text, `"192.0.2.2"`) != 1 {
			t.Fatalf("log:\n%s", text)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		text := log.String()
		if !strings.Contains(text, `"peer":"192.0.2.1","left_out":995`) || strings.Count(text, "left_out") != 1 {
			t.Errorf("the end of the period says:\n%s", text)
		}
		p.Line("192.0.2.1").Msg("again")
		if !strings.Contains(log.String(), "again") {
			t.Error("nothing is written about the peer in the next period")
		}
	})
}

// However many peers there are, memory and log stay bounded.
func TestManyPeersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(lines)
		p := NewPeerLog(zerolog.New(log), zerolog.WarnLevel, 2, time.Second)
		for i := range 10_000 {
			for range 3 {
				p.Line(fmt.Sprint("peer", i)).Msg("refused")
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 2*(peerLogPeers+1) {
			t.Errorf("%d lines", n)
		}
		if len(p.peers) != peerLogPeers {
			t.Errorf("%d peers are kept", len(p.peers))
		}
		before := len(log.String())
		p.Close() // as the end of the period
		summary := log.String()[before:]
		if n := strings.Count(summary, "\n"); n != peerLogSummaries+1 {
			t.Errorf("a summary of %d lines:\n%s", n, summary)
		}
		if want := fmt.Sprintf(`"left_out":%d`, 10_000*3-2*(peerLogPeers+1)-peerLogSummaries); !strings.Contains(summary, want) {
			t.Errorf("no %s in\n%s", want, summary)
		}
	})
}

// What the logger does not write takes neither place nor time.
func TestALogThatIsOffCountsNothing(t *testing.T) {
	p := NewPeerLog(zerolog.Nop(), zerolog.WarnLevel, 1, time.Hour)
	if p.Line("a") != nil || len(p.peers) != 0 || p.timer != nil {
		t.Error("a line was counted")
	}
}
