//go:build linux && !race

package channelactor

import (
	"syscall"
	"unsafe"
)

// rawSize is the largest transfer that is done without telling the scheduler.
// Copying so much takes some ten microseconds, in which nothing else would have
// run on this core either.
const rawSize = 64 << 10

// readNow and writeNow are read and write on a socket that does not block. The
// ordinary calls tell the runtime's scheduler before and after, for the case that
// they take long; the first of them after an idle moment wakes a thread that
// watches for that, and the wake-up costs more than all else that a request does.
// These calls do not take long.
func readNow(fd uintptr, b []byte) (int, error) {
	return transferNow(syscall.SYS_READ, fd, b)
}

func writeNow(fd uintptr, b []byte) (int, error) {
	if len(b) > rawSize {
		return syscall.Write(int(fd), b)
	}
	return transferNow(syscall.SYS_WRITE, fd, b)
}

// transferNow hands the kernel the address of b, which the conversion within the
// call keeps alive and in its place: one of the two uses of unsafe in the package,
// beside writev.
func transferNow(trap, fd uintptr, b []byte) (int, error) {
	n, _, errno := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
