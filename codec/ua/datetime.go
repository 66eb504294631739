package ua

import (
	"math"
	"time"
)

// DateTime counts 100-nanosecond ticks since 1601-01-01 00:00 UTC; 0 is null.
// The number is kept as it came, so that a value passes through unchanged;
// DateTimeOf and Time apply the limits of Part 6, 5.2.2.5.
type DateTime int64

const (
	ticksPerSecond = int64(time.Second / 100)
	// unixEpoch is 1970-01-01 in seconds since 1601-01-01.
	unixEpoch = 11_644_473_600
	// lastSecond is 9999-12-31 23:59:59, from where on every time is encoded
	// as MaxDateTime.
	lastSecond = 265_046_774_399
)

// MaxDateTime stands for 9999-12-31 23:59:59 UTC and everything later.
const MaxDateTime DateTime = math.MaxInt64

// DateTimeOf converts t, dropping what is finer than a tick. Times up to
// 1601-01-01 become 0 and times from 9999-12-31 23:59:59 on MaxDateTime.
func DateTimeOf(t time.Time) DateTime {
	s := t.Unix() + unixEpoch
	switch {
	case s < 0:
		return 0
	case s >= lastSecond:
		return MaxDateTime
	}
	return DateTime(s*ticksPerSecond + int64(t.Nanosecond()/100))
}

// DateTimePicoseconds is DateTimeOf with the rest below a tick in units of 10
// picoseconds, as the picosecond fields of a DataValue count it (Part 6,
// 5.2.2.17).
func DateTimePicoseconds(t time.Time) (DateTime, uint16) {
	v := DateTimeOf(t)
	if v == 0 || v == MaxDateTime {
		return v, 0
	}
	return v, uint16(t.Nanosecond()%100) * 100
}

// Now returns the current time.
func Now() DateTime { return DateTimeOf(time.Now()) }

// Time converts to UTC. The null DateTime and anything before it give the
// zero time; everything from 9999-12-31 23:59:59 on gives that second.
func (t DateTime) Time() time.Time {
	if t <= 0 {
		return time.Time{}
	}
	s, ticks := int64(t)/ticksPerSecond, int64(t)%ticksPerSecond
	if s >= lastSecond {
		s, ticks = lastSecond, 0
	}
	return time.Unix(s-unixEpoch, ticks*100).UTC()
}

// IsNull reports whether t is not set.
func (t DateTime) IsNull() bool { return t == 0 }

// String returns the time in RFC 3339 form, and "null" for the null DateTime.
func (t DateTime) String() string {
	if t == 0 {
		return "null"
	}
	return t.Time().Format(time.RFC3339Nano)
}
