// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"math/rand"
	"sync"
	"time"
)

// The rules of "The end of a lease" in client/README.md, as pure code: they take the time as an argument.

const (
	backoffFirst = 50 * time.Millisecond
	backoffMax   = time.Second
	beatTTLMin   = time.Second // a heartbeat is not exact enough for shorter leases
	beatLagMax   = 50 * time.Millisecond
)

// backoff is the delay after the failures-th failure in a row (1, 2, ...). It doubles up to max; jitter, in [0, 1), picks between half
// and all of it, so that clients that failed together do not retry together.
func backoff(failures int, max time.Duration, jitter float64) time.Duration {
	delay := backoffFirst
	for i := 1; i < failures && delay < max; i++ {
		delay *= 2
	}
	if delay > max {
		delay = max
	}
	return delay/2 + time.Duration(float64(delay/2)*jitter)
}

var jitterSource = struct {
	sync.Mutex
	*rand.Rand
}{Rand: rand.New(rand.NewSource(time.Now().UnixNano()))} // go 1.19 does not seed its own

// jitter is a random number in [0, 1).
func jitter() float64 {
	jitterSource.Lock()
	defer jitterSource.Unlock()
	return jitterSource.Float64()
}

func marginOf(remaining time.Duration) time.Duration { return remaining/100 + 50*time.Millisecond }

// endOf counts from the moment at which the request was sent, never from its answer.
func endOf(sent instant, remaining time.Duration) instant {
	return sent.add(remaining - marginOf(remaining))
}

// stopMarginMax leaves ttl/20 between the regular renewal and the loss.
func stopMarginMax(ttl time.Duration) time.Duration {
	return atLeast(0, ttl-marginOf(ttl)-ttl/3-ttl/20)
}

func atLeast(least, d time.Duration) time.Duration {
	if d < least {
		return least
	}
	return d
}

// isCut tells whether clearly less than a whole ttl is left.
func isCut(remaining, ttl time.Duration) bool { return remaining < ttl-ttl/10 }

// terms are what a lease was acquired with.
type terms struct {
	ttl, maxHold, stopMargin time.Duration
}

type outcome int

const (
	extended  outcome = iota
	endedIt           // the service says that the lease has ended
	noAnswer          // changes nothing: the old end stands
	refusedIt         // another error
)

// life is the time of one lease.
type life struct {
	terms
	end      instant
	renewAt  instant
	asking   bool // a renewal is in flight
	capped   bool // at its max_hold: renewing it is of no use
	lost     bool
	failures int // in a row
}

func newLife(t terms, sent instant, remaining time.Duration) life {
	l := life{terms: t, end: endOf(sent, remaining), renewAt: sent.add(t.ttl / 3)}
	l.capped = t.maxHold > 0 && t.maxHold <= t.ttl
	if isCut(remaining, t.ttl) {
		l.renewAt = sent // that of a repeated acquire may be old already
	}
	return l
}

func (l *life) lostAt() instant { return l.end.add(-l.stopMargin) }

// next tells what is due next, and when: a renewal, or else the loss.
func (l *life) next() (at instant, renew bool) {
	if l.asking || l.capped || l.renewAt >= l.lostAt() {
		return l.lostAt(), false
	}
	return l.renewAt, true
}

// ask notes that a renewal is sent, and returns how long its answer may take.
func (l *life) ask(now instant) time.Duration {
	l.asking = true
	return atLeast(time.Millisecond, l.lostAt().since(now)/2)
}

// answer takes the answer of a renewal that was sent at `sent` and asked for the ttl.
func (l *life) answer(now, sent instant, what outcome, remaining time.Duration, jitter float64) {
	l.asking = false
	if l.loseIfDue(now) {
		return
	}
	switch what {
	case extended:
		l.failures = 0
		l.moveEnd(endOf(sent, remaining))
		l.capped = isCut(remaining, l.ttl)
		l.renewAt = sent.add(l.ttl / 3)
	case endedIt:
		l.lost = true
		if now < l.end {
			l.end = now
		}
	case noAnswer:
		l.failures++
		max := l.ttl / 10
		if max > backoffMax {
			max = backoffMax
		}
		l.renewAt = now.add(backoff(l.failures, max, jitter))
	case refusedIt:
		l.renewAt = now.add(l.ttl / 3)
	}
}

// mayBeat tells whether a heartbeat may renew it: whether there is time for what a heartbeat takes longer than an extend.
func (l *life) mayBeat() bool {
	return l.ttl >= beatTTLMin && l.maxHold == 0 && l.ttl-marginOf(l.ttl)-l.stopMargin-l.ttl/3 >= l.ttl/10
}

// beatLag is how much later than an extend a heartbeat is due. The daemon extends what has less than two thirds of its ttl left by its own
// count, which began a little later.
func beatLag(ttl time.Duration) time.Duration {
	if lag := ttl / 30; lag < beatLagMax {
		return lag
	}
	return beatLagMax
}

func (l *life) moveEnd(end instant) {
	if end > l.end { // an extend never shortens
		l.end = end
	}
}

func (l *life) loseIfDue(now instant) bool {
	l.lost = l.lost || now >= l.lostAt()
	return l.lost
}

func (l *life) remaining(now instant) time.Duration { return atLeast(0, l.end.since(now)) }
