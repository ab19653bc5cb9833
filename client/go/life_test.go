// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"testing"
	"time"
)

const (
	second = instant(time.Second)
	ttl    = 10 * time.Second
)

func tenSeconds() life { return newLife(terms{ttl: ttl}, 0, ttl) }

func TestEndIsCountedFromTheSendingWithAMargin(t *testing.T) {
	l := newLife(terms{ttl: ttl}, 5*second, ttl)
	if want := (5 * second).add(ttl - 100*time.Millisecond - 50*time.Millisecond); l.end != want {
		t.Errorf("end %v instead of %v", l.end, want)
	}
	if at, renew := l.next(); !renew || at != (5*second).add(ttl/3) {
		t.Errorf("next is %v at %v", renew, at)
	}
}

func TestLostComesBeforeTheEndByTheStopMargin(t *testing.T) {
	l := newLife(terms{ttl: ttl, stopMargin: 2 * time.Second}, 0, ttl)
	if l.loseIfDue(l.end.add(-2*time.Second - 1)) {
		t.Error("lost too early")
	}
	if !l.loseIfDue(l.end.add(-2 * time.Second)) {
		t.Error("not lost in time")
	}
}

func TestStopMarginLeavesATwentiethOfTheTTL(t *testing.T) {
	l := newLife(terms{ttl: ttl, stopMargin: stopMarginMax(ttl)}, 0, ttl)
	if left := l.lostAt().since(l.renewAt); left < ttl/20-2 || left > ttl/20+2 {
		t.Errorf("%v between the renewal and the loss", left)
	}
}

func TestExtendWithoutAnAnswerChangesNothing(t *testing.T) {
	l := tenSeconds()
	before := l.end
	if timeout := l.ask(4 * second); timeout != l.end.since(4*second)/2 {
		t.Errorf("waits %v", timeout)
	}
	l.answer(5*second, 4*second, noAnswer, 0, 1)
	if l.end != before || l.lost {
		t.Error("the end has moved")
	}
	if at, renew := l.next(); !renew || at > (5*second).add(backoffMax) {
		t.Errorf("next is %v at %v", renew, at)
	}
}

func TestALateAnswerIsIgnored(t *testing.T) {
	l := tenSeconds()
	l.ask(9 * second)
	l.answer(10*second, 9*second, extended, ttl, 0)
	if !l.lost {
		t.Error("not lost")
	}
}

func TestAnExtendNeverShortens(t *testing.T) {
	l := tenSeconds()
	before := l.end
	l.ask(second)
	l.answer(2*second, second, extended, time.Second, 0)
	if l.end != before || !l.capped {
		t.Errorf("end %v, capped %v", l.end, l.capped)
	}
	if at, renew := l.next(); renew || at != before {
		t.Error("a lease at its max hold is renewed")
	}
}

func TestAHeartbeatRenewsOnlyWhatHasTimeForIt(t *testing.T) {
	for _, each := range []struct {
		terms terms
		may   bool
	}{
		{terms{ttl: ttl}, true},
		{terms{ttl: ttl, stopMargin: 5 * time.Second}, true},
		{terms{ttl: ttl, stopMargin: stopMarginMax(ttl)}, false},
		{terms{ttl: ttl, maxHold: time.Hour}, false},
		{terms{ttl: time.Second / 2}, false},
	} {
		l := newLife(each.terms, 0, each.terms.ttl)
		if l.mayBeat() != each.may {
			t.Errorf("%+v may beat: %v", each.terms, l.mayBeat())
		}
	}
	if lag := beatLag(time.Second) + time.Second/60; lag > time.Second/20 {
		t.Errorf("a heartbeat is %v late", lag)
	}
}

func TestAnOldGrantIsRenewedAtOnce(t *testing.T) {
	l := newLife(terms{ttl: ttl}, second, 5*time.Second)
	if at, renew := l.next(); !renew || at != second {
		t.Errorf("next is %v at %v", renew, at)
	}
}

func TestBackoffDoublesUpToItsLimit(t *testing.T) {
	for failures, want := range map[int]time.Duration{1: 50, 2: 100, 3: 200, 6: 1000, 60: 1000} {
		if got := backoff(failures, backoffMax, 0.999999999); got.Round(time.Millisecond) != want*time.Millisecond {
			t.Errorf("after %d failures %v", failures, got)
		}
	}
	if got := backoff(1, backoffMax, 0); got != 25*time.Millisecond {
		t.Errorf("least %v", got)
	}
}

func TestSessionPolicy(t *testing.T) {
	var p sessionPolicy
	for i := 1; i <= shortSessionsMax; i++ {
		at := instant(i) * second
		if !p.mayOpen(at) {
			t.Fatalf("may not open before cut %d", i)
		}
		p.opened(at)
		p.ended(endCut, at.add(time.Second), 0)
	}
	at := instant(shortSessionsMax+1) * second
	if p.mayOpen(at.add(pauseAfterCuts - 1)) {
		t.Error("opens although streams are cut here")
	}
	if !p.mayOpen(at.add(pauseAfterCuts)) || p.mayWait() {
		t.Error("does not try again, or lets operations wait for it")
	}
	p.opened(at.add(pauseAfterCuts))
	p.ended(endUnsupported, at, 0)
	if p.mayOpen(at.add(pauseUnsupported - 1)) {
		t.Error("opens although the server does not know sessions")
	}
}

func TestRetryRuleTriesAllAddressesBeforeItWaits(t *testing.T) {
	r := retryRule{deadline: 10 * second, addresses: 2}
	down := unavailable("", "away")
	if delay, again := r.delayAfter(down, 0, 1); !again || delay != 0 {
		t.Errorf("waits %v before the second address", delay)
	}
	if delay, again := r.delayAfter(down, 0, 1); !again || delay == 0 {
		t.Error("does not wait after all addresses")
	}
	if _, again := r.delayAfter(invalid("name", "is empty"), 0, 1); again {
		t.Error("repeats a malformed request")
	}
	late := *down
	late.RetryDelay = 20 * time.Second
	if _, again := r.delayAfter(&late, 0, 1); again {
		t.Error("waits beyond its deadline")
	}
}
