package ua

import (
	"context"
	"errors"
	"fmt"

	"github.com/uahive/uahive/codec"
)

// StatusCode is the result of an operation (Part 4, 7.39). It implements
// error, also when it is Good; use Err to turn Good into nil.
type StatusCode uint32

// The parts of a StatusCode. The upper half is the code itself, the lower
// half are flags and information bits.
const (
	statusSeverity  = 0xc000_0000
	statusUncertain = 0x4000_0000
	statusBad       = 0x8000_0000
	statusCodeBits  = 0xffff_0000

	statusStructureChanged = 0x8000
	statusSemanticsChanged = 0x4000
	statusInfoTypeMask     = 0x0c00
	statusInfoDataValue    = 0x0400
	statusLimitMask        = 0x0300
	statusOverflow         = 0x0080
	statusHistorianMask    = 0x001f
)

// IsGood reports whether the severity is Good.
func (s StatusCode) IsGood() bool { return s&statusSeverity == 0 }

// IsUncertain reports whether the severity is Uncertain.
func (s StatusCode) IsUncertain() bool { return s&statusSeverity == statusUncertain }

// IsBad reports whether the severity is Bad. The reserved severity counts as
// Bad (Part 4, 7.39).
func (s StatusCode) IsBad() bool { return s&statusBad != 0 }

// Code returns the code without flags and information bits, which is what the
// constants are compared with.
func (s StatusCode) Code() StatusCode { return s & statusCodeBits }

// Err returns nil when s is Good or Uncertain, and s otherwise.
func (s StatusCode) Err() error {
	if s.IsBad() {
		return s
	}
	return nil
}

// Error returns the standard's symbolic name, or the number in hexadecimal
// when it is unknown.
func (s StatusCode) Error() string { return s.String() }

// String returns the same as Error.
func (s StatusCode) String() string {
	if name := statusName(uint32(s.Code())); name != "" {
		return name
	}
	return fmt.Sprintf("StatusCode(0x%08X)", uint32(s))
}

// StructureChanged reports that the type or structure of the value changed
// since the last notification.
func (s StatusCode) StructureChanged() bool { return s&statusStructureChanged != 0 }

// WithStructureChanged returns s with that bit set.
func (s StatusCode) WithStructureChanged() StatusCode { return s | statusStructureChanged }

// SemanticsChanged reports that properties changed which say what the value
// means, such as its engineering unit.
func (s StatusCode) SemanticsChanged() bool { return s&statusSemanticsChanged != 0 }

// WithSemanticsChanged returns s with that bit set.
func (s StatusCode) WithSemanticsChanged() StatusCode { return s | statusSemanticsChanged }

// HasDataValueInfo reports whether the information bits belong to a DataValue;
// only then Overflow, Limit and Historian bits mean anything.
func (s StatusCode) HasDataValueInfo() bool { return s&statusInfoTypeMask == statusInfoDataValue }

// Overflow reports that the queue of a monitored item lost values at this
// place.
func (s StatusCode) Overflow() bool {
	return s.HasDataValueInfo() && s&statusOverflow != 0
}

// WithOverflow returns s as a DataValue's status with the overflow bit set.
func (s StatusCode) WithOverflow() StatusCode {
	return s&^statusInfoTypeMask | statusInfoDataValue | statusOverflow
}

// LimitBits says whether a value sits at a limit (Part 4, 7.39.1).
type LimitBits uint8

// The limits of a value.
const (
	LimitNone     LimitBits = 0
	LimitLow      LimitBits = 1
	LimitHigh     LimitBits = 2
	LimitConstant LimitBits = 3
)

// Limit returns the limit bits.
func (s StatusCode) Limit() LimitBits {
	if !s.HasDataValueInfo() {
		return LimitNone
	}
	return LimitBits(s & statusLimitMask >> 8)
}

// WithLimit returns s as a DataValue's status with the limit bits set.
func (s StatusCode) WithLimit(l LimitBits) StatusCode {
	return s&^(statusInfoTypeMask|statusLimitMask) | statusInfoDataValue | StatusCode(l&3)<<8
}

// HistorianBits says where a historical value came from (Part 11, 6.4.3).
type HistorianBits uint8

// The bits of a historical value. The lower two are a number.
const (
	HistorianRaw          HistorianBits = 0x00
	HistorianCalculated   HistorianBits = 0x01
	HistorianInterpolated HistorianBits = 0x02
	HistorianPartial      HistorianBits = 0x04
	HistorianExtraData    HistorianBits = 0x08
	HistorianMultiValue   HistorianBits = 0x10
)

// Historian returns the historian bits.
func (s StatusCode) Historian() HistorianBits {
	if !s.HasDataValueInfo() {
		return HistorianRaw
	}
	return HistorianBits(s & statusHistorianMask)
}

// WithHistorian returns s as a DataValue's status with the historian bits.
func (s StatusCode) WithHistorian(h HistorianBits) StatusCode {
	return s&^(statusInfoTypeMask|statusHistorianMask) | statusInfoDataValue | StatusCode(h)&statusHistorianMask
}

// StatusOf finds the StatusCode that tells a peer about err: Good for nil, a
// StatusCode anywhere in the chain as it is, the two failures of a decoder,
// an ended context, and BadInternalError for the rest, whose text is not for
// the peer.
func StatusOf(err error) StatusCode {
	if err == nil {
		return Good
	}
	var code StatusCode
	switch {
	case errors.As(err, &code):
		return code
	case errors.Is(err, codec.ErrDecoding):
		return BadDecodingError
	case errors.Is(err, codec.ErrLimits):
		return BadEncodingLimitsExceeded
	case errors.Is(err, context.DeadlineExceeded):
		return BadTimeout
	case errors.Is(err, context.Canceled):
		return BadRequestCancelledByClient
	}
	return BadInternalError
}
