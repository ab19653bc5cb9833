// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"container/heap"
	"sync"
	"time"
)

// instant is a point in time of now(), in nanoseconds.
type instant int64

func (i instant) add(d time.Duration) instant       { return i + instant(d) }
func (i instant) since(other instant) time.Duration { return time.Duration(i - other) }

// timer is one entry of timers. Its zero value with run set is ready to use.
type timer struct {
	run   func()
	at    instant
	place int // in the heap, counted from 1; 0: not there
}

// timers run functions at instants, on one goroutine: none of them may block.
type timers struct {
	alarm *alarm
	mu    sync.Mutex
	due   timerHeap
}

func newTimers() (*timers, error) {
	alarm, err := newAlarm()
	if err != nil {
		return nil, err
	}
	t := &timers{alarm: alarm}
	go t.loop()
	return t, nil
}

// set lets the timer fire at the given time, and not at the one that was set before.
func (t *timers) set(one *timer, at instant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one.at = at
	if one.place == 0 {
		heap.Push(&t.due, one)
	} else {
		heap.Fix(&t.due, one.place-1)
	}
	if one.place == 1 {
		t.alarm.set(at)
	}
}

// cancel keeps the timer from firing. It may be running.
func (t *timers) cancel(one *timer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.place > 0 {
		heap.Remove(&t.due, one.place-1)
	}
}

func (t *timers) close() { t.alarm.close() }

func (t *timers) loop() {
	for t.alarm.wait() {
		for {
			one := t.next()
			if one == nil {
				break
			}
			one.run()
		}
	}
}

// next takes out a timer that is due. Nil, with the alarm set, if none is.
func (t *timers) next() *timer {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.due) == 0 {
		return nil
	}
	if t.due[0].at > now() {
		t.alarm.set(t.due[0].at)
		return nil
	}
	return heap.Pop(&t.due).(*timer)
}

type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i+1, j+1
}

func (h *timerHeap) Push(x any) {
	one := x.(*timer)
	*h = append(*h, one)
	one.place = len(*h)
}

func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	one := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	one.place = 0
	return one
}
