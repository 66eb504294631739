//go:build !linux

package publishloop

import (
	"sync/atomic"
	"time"
)

func newKernelAlarm(time.Duration, time.Duration, *atomic.Int64) (alarm, bool) { return nil, false }
