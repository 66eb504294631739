package sessionactor

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/uahive/uahive/codec/ua"
)

// Every number that a client may ask for gets a time-out within the limits
// (threat D7).
func TestSessionTimeoutIsRevised(t *testing.T) {
	s := &Service{limits: Limits{}.WithDefaults()}
	for ms, want := range map[float64]time.Duration{
		0: time.Minute, -1: time.Minute, math.Inf(-1): time.Minute, 1: 10 * time.Second, 0.4: 10 * time.Second,
		30_000: 30 * time.Second, 1e300: time.Hour, math.Inf(1): time.Hour, math.MaxFloat64: time.Hour,
	} {
		if got := s.reviseTimeout(ms); got != want {
			t.Errorf("%v ms: %v, want %v", ms, got, want)
		}
	}
	if got := s.reviseTimeout(math.NaN()); got != time.Minute {
		t.Errorf("NaN: %v", got)
	}
}

// What a peer sent is cut before it is logged (threat V16).
func TestQuotedIsShort(t *testing.T) {
	if got := quoted(strings.Repeat("x", 1<<20)); len(got) > 300 {
		t.Errorf("%d bytes", len(got))
	}
	if got := quoted("name"); got != "name" {
		t.Error(got)
	}
}

// Each request type has its place in the table, under its own id.
func TestServiceTable(t *testing.T) {
	if len(services) >= maxServices {
		t.Fatalf("%d services and room for %d counters", len(services), maxServices)
	}
	for _, e := range services {
		got := entryOf(ua.NumericID(0, e.request))
		if got != e {
			t.Errorf("%s is not found", e.name)
		}
		if name := ua.TypeName(e.request); !strings.EqualFold(name, e.name+"Request") {
			t.Errorf("%s has the id of %s", e.name, name)
		}
	}
	for _, id := range []ua.NodeID{
		{}, ua.NumericID(1, services[0].request), ua.NumericID(0, 1<<32-1), ua.StringID(0, "422"),
	} {
		if entryOf(id) != nil {
			t.Errorf("%v is a service", id)
		}
	}
}

// Continuation points are used once, belong to one session, and are bounded.
func TestContinuationPoints(t *testing.T) {
	service := &Service{limits: Limits{BrowseContinuationPoints: 3}.WithDefaults()}
	session := &Session{service: service}
	session.bound.Store(&binding{})
	var points []browsePoint
	for i := range 3 {
		p, code := session.keepPoint(&cursor{pos: i})
		if code != ua.Good {
			t.Fatal(code)
		}
		points = append(points, p)
	}
	if _, code := session.keepPoint(&cursor{}); code != ua.BadNoContinuationPoints {
		t.Errorf("fourth point: %v", code)
	}
	held := func(want int64) {
		t.Helper()
		if got := service.stats.points.Load(); got != want {
			t.Errorf("%d points are counted, %d are held", got, want)
		}
	}
	held(3)
	if c := session.takePoint(points[1][:]); c == nil || c.pos != 1 {
		t.Error("point 1 is lost")
	}
	for _, forged := range [][]byte{nil, {}, {1}, {1, 2, 3}, points[1][:], make([]byte, 16), append(points[0][:], 0)} {
		if session.takePoint(forged) != nil {
			t.Errorf("%x is taken for a point", forged)
		}
	}
	held(2)
	session.releasePoints(2)
	held(1)
	if session.takePoint(points[2][:]) != nil || session.takePoint(points[0][:]) == nil {
		t.Error("releasing from 2 on released others")
	}
	if _, code := session.keepPoint(&cursor{}); code != ua.Good {
		t.Error(code)
	}
	held(1)
	session.clearPoints()
	held(0)
	session.bound.Store(nil)
	if _, code := session.keepPoint(&cursor{}); code == ua.Good {
		t.Error("a closed session keeps a point")
	}
}

// Every counter of the standard's session diagnostics belongs to a service that
// is served, or to one that is not there yet.
func TestDiagnosticsCountByService(t *testing.T) {
	var d ua.SessionDiagnosticsDataType
	places := map[*ua.ServiceCounterDataType]string{}
	for _, e := range services {
		place := counterOf(&d, e.name)
		if place == nil {
			if e.session && e.name != "Cancel" {
				t.Errorf("%s is not counted", e.name)
			}
			continue
		}
		if other, twice := places[place]; twice {
			t.Errorf("%s and %s share a counter", e.name, other)
		}
		places[place] = e.name
	}
}
