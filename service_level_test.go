package uahive

import (
	"testing"
	"time"

	"github.com/uahive/uahive/actors"
)

// ServiceLevel falls with each part of the load, stays within the sub-range that
// the standard gives it (Part 4, 6.6.2.4.2), and takes no step upwards.
func TestServiceLevelFallsAsLoadRises(t *testing.T) {
	if got := (load{}).level(); got != 255 {
		t.Errorf("idle: %d", got)
	}
	for name, at := range map[string]func(float64) load{
		"handshakes": func(f float64) load { return load{handshakes: f} },
		"calls":      func(f float64) load { return load{calls: f} },
		"sessions":   func(f float64) load { return load{sessions: f} },
		"away":       func(f float64) load { return load{handshakes: 1, turnedAway: f} },
		"all":        func(f float64) load { return load{f, f, f, f} },
	} {
		last := uint8(255)
		for i := range 1001 {
			f := float64(i) / 1000
			l := at(f)
			level := l.level()
			if level > last {
				t.Fatalf("%s at %v: %d after %d", name, f, level, last)
			}
			refusing := l.turnedAway > 0 || f >= 1 || l.handshakes >= 1
			if !refusing && level < 200 || refusing && (level > 199 || level < 2) {
				t.Fatalf("%s at %v: %d", name, f, level)
			}
			last = level
		}
		if name == "away" && last != 2 || name != "away" && name != "all" && last != 199 {
			t.Errorf("%s at its worst: %d", name, last)
		}
	}
}

func TestLoadIsMeasuredAgainstLimits(t *testing.T) {
	lane := actors.LaneStats{Wait: time.Second, MaxWait: 4 * time.Second, Away: 15 * time.Second}
	got := loadOf(lane, actors.PoolStats{Waiting: 50, Queue: 200}, 20_000, 10_000)
	if want := (load{handshakes: 0.25, calls: 0.25, sessions: 1, turnedAway: 0.5}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// The server shows its level, and that it shuts down.
func TestServiceLevelIsLive(t *testing.T) {
	s, err := New(Config{PKI: "memory", ShutdownDelay: -1})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.serviceLevel(); got != 255 {
		t.Errorf("at first: %d", got)
	}
	free := make(chan struct{})
	submit := func(n int) {
		for range n * laneSize() {
			_ = s.lane.Submit(actors.Last, 1, func() bool { return true }, func(bool) { <-free })
		}
	}
	submit(1) // these run, and whoever comes waits
	if got := s.serviceLevel(); got != 255 {
		t.Errorf("with nobody who waits: %d", got)
	}
	// At first each is taken to need two milliseconds, and as much for each of the three times that it
	// comes back: ten are 80 ms of the four seconds that may wait, a fiftieth of the 55 levels.
	submit(10)
	if got := s.serviceLevel(); got != 254 {
		t.Errorf("with ten that wait: %d", got)
	}
	submit(2000)
	if got := s.serviceLevel(); got > 199 {
		t.Errorf("with a full lane: %d", got)
	}
	close(free)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if got := s.serviceLevel(); got != 0 {
		t.Errorf("after Close: %d", got)
	}
}
