package audit

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"github.com/uahive/uahive/codec/ua"
	"github.com/uahive/uahive/events"
)

// A trail that is switched off may be asked and does nothing.
func TestNoTrail(t *testing.T) {
	var off *Trail
	if off.Wanted() || off.Admits("host") || off.Record(CloseSecureChannel(someone, 1)) != nil || off.Stats() != (Stats{}) {
		t.Error("a trail that is off did something")
	}
	if n := testing.AllocsPerRun(100, func() { off.Wanted() }); n != 0 {
		t.Errorf("asking costs %v allocations", n)
	}
}

// Clients and the program get the same entry under the same id; the log gets a line
// about what concerns security only.
func TestTrailTakesEntriesToAll(t *testing.T) {
	var reported []*events.Event
	var told []*Entry
	var log bytes.Buffer
	logger, heard := zerolog.New(&log), true
	trail := New(Config{
		ServerID: "urn:server",
		Report:   func(e *events.Event) { reported = append(reported, e) },
		Heard:    func() bool { return heard },
		Tell:     func(e *Entry) { told = append(told, e) },
		Line:     func(string) *zerolog.Event { return logger.Info() },
	})
	eventID := trail.Record(samples()["AuditSessionEventType"])
	if len(reported) != 1 || len(told) != 1 || len(eventID) == 0 || !bytes.Equal(reported[0].ID, eventID) || !bytes.Equal(told[0].EventID, eventID) {
		t.Fatalf("reported %v, told %v, id %x", reported, told, eventID)
	}
	if told[0].ServerID != "urn:server" || !bytes.Contains(log.Bytes(), []byte(`"session":"ns=1;i=5"`)) || !bytes.Contains(log.Bytes(), []byte(`"user":"alice"`)) {
		t.Errorf("told %+v, logged %s", told[0], log.String())
	}
	log.Reset()
	trail.Record(samples()["AuditWriteUpdateEventType"])
	if log.Len() != 0 {
		t.Errorf("a write was logged: %s", log.String())
	}
	heard = false
	if trail.Record(samples()["AuditWriteUpdateEventType"]); len(reported) != 2 || len(told) != 3 {
		t.Errorf("%d events where nobody listened, %d entries", len(reported), len(told))
	}
	if s := trail.Stats(); s.Recorded != 3 || s.Dropped != 0 {
		t.Errorf("counted %+v", s)
	}
}

// Where neither the program nor any client wants to know, nothing is made.
func TestNobodyWantsIt(t *testing.T) {
	heard := false
	trail := New(Config{Report: func(*events.Event) { t.Error("reported") }, Heard: func() bool { return heard }})
	if trail.Wanted() || trail.Record(CloseSecureChannel(someone, 1)) != nil {
		t.Error("something was recorded for nobody")
	}
	heard = true
	if !trail.Wanted() {
		t.Error("a client listens, and writes are not recorded")
	}
}

// One host that fails a million times has its share in each second, and others have
// theirs (threats: a flood of denied logins must not become a flood of work).
func TestFloodOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail := New(Config{FailuresPerSecond: 5})
		admitted := func(host string, tries int) (n int) {
			for range tries {
				if trail.Admits(host) {
					n++
				}
			}
			return n
		}
		if n := admitted("noisy", 1000); n != 5 {
			t.Errorf("%d refusals of one host in a second", n)
		}
		if n := admitted("quiet", 3); n != 3 {
			t.Errorf("another host had %d of 3", n)
		}
		total := 0
		for i := range 10 * maxHosts {
			total += admitted(fmt.Sprint("host ", i), 1)
		}
		if total != maxHosts-2+5 || len(trail.shares.hosts) != maxHosts {
			t.Errorf("%d of very many hosts, %d of them kept", total, len(trail.shares.hosts))
		}
		if s := trail.Stats(); s.Dropped != uint64(1000-5+10*maxHosts-total) {
			t.Errorf("counted %+v", s)
		}
		time.Sleep(time.Second)
		if n := admitted("noisy", 10); n != 5 {
			t.Errorf("%d refusals in the next second", n)
		}
	})
}

func BenchmarkRecordWrite(b *testing.B) {
	trail := New(Config{Report: func(*events.Event) {}, Heard: func() bool { return true }})
	b.ReportAllocs()
	for b.Loop() {
		w := Write{Node: ua.NumericID(2, 1), Attribute: ua.AttributeIDValue, Old: ua.Int32Variant(1), New: ua.Int32Variant(2)}
		trail.Record(w.Entry(someone, ua.Good))
	}
}
