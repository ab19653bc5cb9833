// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// now returns the time since the machine booted. It goes on while the machine sleeps, which Go's own
// monotonic clock does not: a lease ends while the machine sleeps, too.
func now() instant {
	var t unix.Timespec
	// Raw, since it never blocks: unix.ClockGettime hands the processor to another goroutine's thread, as for a call that may.
	_, _, failed := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_BOOTTIME, uintptr(unsafe.Pointer(&t)), 0)
	if failed != 0 {
		panic("lockkeeper: CLOCK_BOOTTIME: " + failed.Error()) // every Linux that Go runs on has it
	}
	return instant(t.Nano())
}

// alarm wakes one goroutine at a time of now(). A timerfd, since Go's timers stop while the machine sleeps.
type alarm struct {
	fd   int
	file *os.File // of fd, with Go's poller
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_BOOTTIME, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("timerfd_create", err)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// set makes wait return at the given time; a time that has passed, at once.
func (a *alarm) set(at instant) {
	if at < 1 {
		at = 1 // zero would disarm it
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(at))}
	_ = unix.TimerfdSettime(a.fd, unix.TFD_TIMER_ABSTIME, &spec, nil) // fails only for a bad spec
}

// wait returns false once the alarm is closed.
func (a *alarm) wait() bool {
	var count [8]byte
	_, err := a.file.Read(count[:])
	return err == nil
}

func (a *alarm) close() { _ = a.file.Close() }
