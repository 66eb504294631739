package publishloop

import (
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// kernelAlarm is a timerfd. Its goroutine waits for it in the runtime's poller,
// together with all sockets.
type kernelAlarm struct {
	file *os.File
	conn syscall.RawConn
	read func(fd uintptr) bool
	took [8]byte // what is read: how often it has gone off since the last time
	used *atomic.Int64
}

// newKernelAlarm returns an alarm that goes off after d and then in each interval;
// both are above 0. ok is false when the kernel gives none. used counts down when
// it is stopped.
func newKernelAlarm(d, interval time.Duration, used *atomic.Int64) (a *kernelAlarm, ok bool) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, false
	}
	a = &kernelAlarm{file: os.NewFile(uintptr(fd), "publishing timer"), used: used}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d)), Interval: unix.NsecToTimespec(int64(interval))}
	if err = unix.TimerfdSettime(fd, 0, &spec, nil); err == nil {
		err = a.file.SetReadDeadline(time.Time{}) // fails where the poller does not take it
	}
	if err == nil {
		a.conn, err = a.file.SyscallConn()
	}
	if err != nil {
		a.file.Close()
		return nil, false
	}
	a.read = a.readOnce
	return a, true
}

// readOnce reports whether the alarm has gone off. The call does not block, so
// that the scheduler need not know of it: telling it wakes the runtime's monitor.
func (a *kernelAlarm) readOnce(fd uintptr) bool {
	for {
		_, _, err := syscall.RawSyscall(syscall.SYS_READ, fd, uintptr(unsafe.Pointer(&a.took)), unsafe.Sizeof(a.took))
		if err != syscall.EINTR {
			return err != syscall.EAGAIN
		}
	}
}

func (a *kernelAlarm) wait()               { _ = a.conn.Read(a.read) }
func (a *kernelAlarm) again(time.Duration) {}
func (a *kernelAlarm) periodic() bool      { return true }

func (a *kernelAlarm) ring() {
	_ = a.conn.Control(func(fd uintptr) {
		_ = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(1)}, nil)
	})
}

func (a *kernelAlarm) stop() {
	if a.file.Close() == nil {
		a.used.Add(-1)
	}
}
