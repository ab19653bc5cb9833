// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package lockkeeper

import (
	"sync"
	"time"
)

var started = time.Now()

// now returns the time of Go's monotonic clock. It may stand still while the machine sleeps: see the README.
func now() instant { return instant(time.Since(started)) }

// alarm wakes one goroutine at a time of now().
type alarm struct {
	timer *time.Timer
	done  chan struct{}
	once  sync.Once
}

func newAlarm() (*alarm, error) {
	return &alarm{timer: time.NewTimer(time.Hour), done: make(chan struct{})}, nil
}

// set makes wait return at the given time; a time that has passed, at once.
func (a *alarm) set(at instant) { a.timer.Reset(time.Duration(at - now())) }

// wait returns false once the alarm is closed.
func (a *alarm) wait() bool {
	select {
	case <-a.timer.C:
		return true
	case <-a.done:
		return false
	}
}

func (a *alarm) close() { a.once.Do(func() { close(a.done) }) }
