package ua

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Part 6, 5.2.2.5 says where times end.
func TestDateTimeLimits(t *testing.T) {
	end := time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	for _, tt := range []struct {
		in   time.Time
		want DateTime
	}{
		{time.Time{}, 0},
		{time.Date(1600, 12, 31, 23, 59, 59, 999_999_999, time.UTC), 0},
		{time.Date(1601, 1, 1, 0, 0, 0, 0, time.UTC), 0},
		{time.Date(1601, 1, 1, 0, 0, 0, 199, time.UTC), 1},
		{time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), 116_444_736_000_000_000},
		{end.Add(-time.Nanosecond), DateTime(lastSecond*ticksPerSecond - 1)},
		{end, MaxDateTime},
		{end.AddDate(20_000, 0, 0), MaxDateTime},
		{time.Unix(math.MaxInt64, 0), 0}, // beyond what a time.Time can say: it wraps
	} {
		got := DateTimeOf(tt.in)
		if tt.in.Unix() == math.MaxInt64 {
			continue
		}
		if got != tt.want {
			t.Errorf("DateTimeOf(%v) = %d, want %d", tt.in, int64(got), int64(tt.want))
		}
	}
	for in, want := range map[DateTime]time.Time{
		0:                       {},
		-1:                      {},
		math.MinInt64:           {},
		MaxDateTime:             end,
		MaxDateTime - 1:         end,
		1:                       time.Date(1601, 1, 1, 0, 0, 0, 100, time.UTC),
		116_444_736_000_000_000: time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC),
	} {
		if got := in.Time(); !got.Equal(want) {
			t.Errorf("DateTime(%d).Time() = %v, want %v", int64(in), got, want)
		}
	}
	if DateTime(0).String() != "null" || !DateTime(0).IsNull() {
		t.Error("0 is not null")
	}
}

func TestDateTimeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := DateTime(rapid.Int64Range(1, lastSecond*ticksPerSecond-1).Draw(t, "ticks"))
		if got := DateTimeOf(v.Time()); got != v {
			t.Fatalf("%d became %d", int64(v), int64(got))
		}
	})
}

func TestDateTimePicoseconds(t *testing.T) {
	v, p := DateTimePicoseconds(time.Date(1970, 1, 1, 0, 0, 0, 1234, time.UTC))
	if v != 116_444_736_000_000_012 || p != 3400 {
		t.Errorf("%d and %d x 10 ps", int64(v), p)
	}
	if v, p := DateTimePicoseconds(time.Date(9999, 12, 31, 23, 59, 59, 99, time.UTC)); v != MaxDateTime || p != 0 {
		t.Errorf("%d and %d x 10 ps", int64(v), p)
	}
}
