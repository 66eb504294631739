package ua

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/uahive/uahive/codec"
)

func TestStatusCodeNames(t *testing.T) {
	for code, want := range map[StatusCode]string{
		Good:                        "Good",
		BadNodeIDUnknown:            "BadNodeIdUnknown",
		BadDecodingError | 0x480:    "BadDecodingError",
		Good.WithOverflow():         "Good",
		0x80FF0000:                  "StatusCode(0x80FF0000)",
		UncertainInitialValue:       "UncertainInitialValue",
		BadTimeout.WithLimit(3) | 1: "BadTimeout",
	} {
		if code.String() != want || code.Error() != want {
			t.Errorf("0x%08X is %q, want %q", uint32(code), code, want)
		}
	}
}

func TestStatusSeverity(t *testing.T) {
	for code, want := range map[StatusCode][3]bool{
		Good:                  {true, false, false},
		Good.WithOverflow():   {true, false, false},
		UncertainInitialValue: {false, true, false},
		BadTimeout:            {false, false, true},
		0xC0000000:            {false, false, true}, // reserved, counts as Bad
	} {
		if got := [3]bool{code.IsGood(), code.IsUncertain(), code.IsBad()}; got != want {
			t.Errorf("%v: good, uncertain, bad = %v", code, got)
		}
		if (code.Err() != nil) != code.IsBad() {
			t.Errorf("%v: Err() = %v", code, code.Err())
		}
	}
}

// Part 4, 7.39.1: the information bits mean something only with info type
// DataValue.
func TestStatusInfoBits(t *testing.T) {
	s := UncertainInitialValue.WithOverflow().WithLimit(LimitHigh).WithHistorian(HistorianInterpolated | HistorianPartial).
		WithSemanticsChanged().WithStructureChanged()
	if uint32(s) != uint32(UncertainInitialValue)|0x8000|0x4000|0x0400|0x0200|0x0080|0x0006 {
		t.Errorf("0x%08X", uint32(s))
	}
	if !s.Overflow() || s.Limit() != LimitHigh || s.Historian() != 6 || !s.SemanticsChanged() || !s.StructureChanged() || s.Code() != UncertainInitialValue {
		t.Errorf("0x%08X is read back differently", uint32(s))
	}
	s &^= 0x0400
	if s.Overflow() || s.Limit() != LimitNone || s.Historian() != HistorianRaw || !s.SemanticsChanged() {
		t.Errorf("0x%08X without an info type still has information", uint32(s))
	}
	if s := s.WithLimit(LimitNone); s.Limit() != LimitNone || !s.HasDataValueInfo() {
		t.Errorf("0x%08X", uint32(s))
	}
}

func TestStatusOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want StatusCode
	}{
		{nil, Good},
		{BadTimeout, BadTimeout},
		{fmt.Errorf("reading the sensor: %w", BadOutOfRange), BadOutOfRange},
		{codec.ErrDecoding, BadDecodingError},
		{fmt.Errorf("request: %w", codec.ErrLimits), BadEncodingLimitsExceeded},
		{context.DeadlineExceeded, BadTimeout},
		{context.Canceled, BadRequestCancelledByClient},
		{errors.New("disk full"), BadInternalError},
	} {
		if got := StatusOf(tt.err); got != tt.want {
			t.Errorf("StatusOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}
