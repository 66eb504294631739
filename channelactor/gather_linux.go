package channelactor

import (
	"errors"
	"sync"
	"syscall"
	"unsafe"
)

// gathers says whether writev is to be had without allocating.
const gathers = true

// maxVector is the number of pieces that one call writes: enough for a window of
// whole frames, and far below the kernel's limit of 1024.
const maxVector = 2*windowFrames + 8

// vectors are borrowed for a call: on the stack of a reader, which is long-lived
// and small, one would double it.
var vectors = sync.Pool{New: func() any { return new([maxVector]syscall.Iovec) }}

// writev writes several pieces with one call: the kernel is handed their
// addresses, and they stay reachable through the vector until the call returns.
func writev(fd uintptr, pieces [][]byte) (int, error) {
	vector := vectors.Get().(*[maxVector]syscall.Iovec)
	n := 0
	defer func() {
		clear(vector[:n]) // what was sent is not kept alive
		vectors.Put(vector)
	}()
	for _, p := range pieces {
		if len(p) == 0 {
			continue
		}
		if n == maxVector {
			break
		}
		vector[n].Base = unsafe.SliceData(p)
		vector[n].SetLen(len(p))
		n++
	}
	if n == 0 {
		return 0, nil
	}
	for {
		written, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(vector)), uintptr(n))
		switch {
		case errno == 0:
			return int(written), nil
		case errors.Is(errno, syscall.EINTR):
		case errors.Is(errno, syscall.EAGAIN):
			return 0, nil
		default:
			return 0, errno
		}
	}
}
