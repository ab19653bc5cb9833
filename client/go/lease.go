// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"lockkeeper/client/go/internal/pb"
)

// Lease is the time-bounded right to a lock. The client renews it until it is released, detached or lost.
//
// The end is counted from the moment at which the granted request was sent, on CLOCK_BOOTTIME, less a margin of 1 % and 50 ms. A renewal
// without an answer leaves the end as it was. A lease that is lost stays lost.
//
// What it cannot prevent: a paused process may wake up after the end and act before it looks. Only a resource that checks the Token
// prevents that.
//
// All methods may be called from any goroutine. Go has no destructors: a lease that nobody releases is renewed until the client is closed
// or the process ends.
type Lease struct {
	client   *Client
	name     string
	id       string
	token    int64
	waited   time.Duration
	notEnded bool          // the lease before was not released
	asTTL    time.Duration // that each extend asks for; 0: as granted
	ctx      context.Context
	end      func(error) // ends ctx
	lost     chan struct{}
	timer    timer

	mu      sync.Mutex
	life    life
	state   leaseState
	loss    *LostError
	ending  error // with which ctx has to end when mu is released
	last    *Error
	proof   string
	home    *session // that keeps it on the server; nil: none
	alone   bool     // the next renewal must not be by heartbeat
	release *pendingRelease
}

type leaseState int

const (
	held leaseState = iota
	lostInTime
	lostByWord // of the service
	released   // or detached
)

// Detached is what another client needs to adopt a lease. LeaseID is a credential: do not log it.
type Detached struct {
	Name        string
	LeaseID     string
	Token       int64
	Reassertion string
}

func (c *Client) newLease(ctx context.Context, g *grant, t terms, asTTL time.Duration) *Lease {
	l := &Lease{
		client: c, name: g.lease.Name, id: g.lease.LeaseId, token: g.lease.FencingToken, waited: durationOf(g.lease.Waited),
		notEnded: g.lease.PreviousLeaseExpired, asTTL: asTTL, proof: g.lease.Reassertion, lost: make(chan struct{}),
		life: newLife(t, g.sent, durationOf(g.lease.RemainingTtl)),
	}
	inner, end := withCause(valuesOf{ctx})
	l.ctx, l.end = leaseContext{inner, l, end}, end
	l.timer.run = l.onTimer
	return l
}

// begin starts to renew the lease.
func (l *Lease) begin(s *session) {
	lostAlready := false
	l.mu.Lock()
	defer l.unlock()
	if s != nil {
		var kept bool
		if kept, lostAlready = s.keep(l); kept {
			l.home = s
		}
	}
	if lostAlready {
		l.life.renewAt = now()
	}
	l.reschedule()
}

// Name of the lock.
func (l *Lease) Name() string { return l.name }

// Token is higher than that of every earlier grant of the lock. Pass it to every resource that the lock guards.
func (l *Lease) Token() int64 { return l.token }

// ID is the lease id: a credential, whoever knows it can extend and release. Do not log it.
func (l *Lease) ID() string { return l.id }

// Waited is the time that the acquire stood in line.
func (l *Lease) Waited() time.Duration { return l.waited }

// PreviousLeaseExpired says that the lease before this one ended without a release: what the lock guards may be half done.
func (l *Lease) PreviousLeaseExpired() bool { return l.notEnded }

// Context ends when the lease is lost, released or detached; context.Cause then is a *LostError or ErrReleased. It has the values of the
// context of the acquire, but not its end. Its Err looks at the clock.
func (l *Lease) Context() context.Context { return l.ctx }

// Lost is closed when the lease is lost. Not when it is released.
func (l *Lease) Lost() <-chan struct{} { return l.lost }

// Held looks at the clock and tells whether the lease is still held.
func (l *Lease) Held() bool { return l.Err() == nil }

// Err is nil while the lease is held, a *LostError once it is lost, and ErrReleased once it is released or detached without being lost.
func (l *Lease) Err() error {
	l.mu.Lock()
	defer l.unlock()
	l.loseIfDue(now())
	switch {
	case l.loss != nil:
		return l.loss
	case l.state == released:
		return ErrReleased
	}
	return nil
}

// Remaining is the time until the end; zero once the lease is released, or the service has said that it ended.
func (l *Lease) Remaining() time.Duration {
	l.mu.Lock()
	defer l.unlock()
	if l.state == released {
		return 0
	}
	return l.life.remaining(now())
}

// Reassertion is the newest proof of the lease; each renewal brings a new one.
func (l *Lease) Reassertion() string {
	l.mu.Lock()
	defer l.unlock()
	return l.proof
}

// Extend moves the end of the lease to ttl from now, if that is later; 0, or less than the regular renewals ask for: as they do. The
// regular renewals go on. It tries for at most CallTimeout. An error other than LEASE_LOST leaves the lease as it was.
func (l *Lease) Extend(ctx context.Context, ttl time.Duration) error {
	if err := l.Err(); err != nil {
		return err
	}
	if ttl < 0 {
		return invalid("ttl", "must not be negative")
	}
	if ttl == 0 {
		ttl = l.asTTL
	} else {
		// The service extends by heartbeats with the ttl that was asked for last; a shorter one would not last for the regular one.
		ttl = atLeast(l.life.ttl, ttl)
	}
	sent, said := l.client.runUntilAnswered(ctx, func() *pb.SessionOperation {
		return extendOperation(l.name, l.id, l.token, l.Reassertion(), ttl)
	})
	r := l.renewalOf(said)
	l.mu.Lock()
	defer l.unlock()
	if l.state != held {
		return l.errNow()
	}
	switch r.outcome {
	case extended:
		l.life.moveEnd(endOf(sent, r.remaining))
		l.takeProof(r.proof)
		l.reschedule()
		return nil
	case endedIt:
		l.life.answer(now(), sent, endedIt, 0, 0)
		l.last = r.err
		l.lose(lostByWord)
		return l.loss
	}
	return r.err
}

func (l *Lease) errNow() error {
	if l.loss != nil {
		return l.loss
	}
	return ErrReleased
}

// Release releases the lock. It returns the first outcome when it is called again. It waits for at most ReleaseTimeout, and not after ctx
// has ended; then the client retries in the background until the lease has expired. In any case the lease is no longer renewed.
func (l *Lease) Release(ctx context.Context) (ReleaseResult, error) {
	l.mu.Lock()
	if l.release == nil {
		l.loseIfDue(now())
		left := l.life.remaining(now())
		home := l.home
		// A lease that counts as lost in time may still be live: an extend without an answer may have moved its end.
		switch l.drop(ErrReleased) {
		case lostByWord:
			l.release = finishedRelease(ReleaseResult{Reason: Expired}, nil)
		case released:
			l.release = finishedRelease(ReleaseResult{}, ErrReleased) // it was detached
		default:
			until := atLeast(l.client.options.ReleaseTimeout, left+marginOf(left))
			l.release = l.client.releaseInBackground(ctx, l.name, l.id, now().add(until), home)
		}
	}
	pending := l.release
	ending := l.ending
	l.ending = nil
	l.unlock()
	if ending != nil {
		defer l.end(ending) // not before: ctx may be the lease's own
	}
	return pending.wait(ctx, l.client.options.ReleaseTimeout)
}

// Detach stops renewing the lease without releasing it, for another client to adopt.
func (l *Lease) Detach() (Detached, error) {
	l.mu.Lock()
	defer l.unlock()
	l.loseIfDue(now())
	if l.loss != nil || l.state == released {
		return Detached{}, l.errNow()
	}
	if l.home != nil {
		l.home.forget(l.name, l.id)
	}
	l.drop(ErrReleased)
	return Detached{Name: l.name, LeaseID: l.id, Token: l.token, Reassertion: l.proof}, nil
}

// drop ends the keeping of the lease, and returns the state that it was in. With mu held.
func (l *Lease) drop(cause error) leaseState {
	before := l.state
	l.state = released
	if before == held {
		l.ending = cause
	}
	if l.home != nil {
		l.home.drop(l)
		l.home = nil
	}
	l.client.timers.cancel(&l.timer)
	l.client.forget(l)
	return before
}

// unlock releases mu, and then ends the context if that has become due: its children must not run under mu.
func (l *Lease) unlock() {
	cause := l.ending
	l.ending = nil
	l.mu.Unlock()
	if cause != nil {
		l.end(cause)
	}
}

func (l *Lease) loseIfDue(now instant) {
	if l.state == held && l.life.loseIfDue(now) {
		l.lose(lostInTime)
	}
}

func (l *Lease) lose(state leaseState) {
	l.state = state
	l.loss = &LostError{Name: l.name, Cause: l.cause(state)}
	if l.last != nil && l.loss.Cause != MaxHold {
		l.loss.Last = l.last
	}
	l.ending = l.loss
	close(l.lost)
	l.client.forget(l)
	l.client.timers.cancel(&l.timer)
	if l.home != nil {
		l.home.forget(l.name, l.id)
		l.home = nil
	}
}

func (l *Lease) cause(state leaseState) Cause {
	switch {
	case state == lostByWord:
		return LeaseLost
	case l.life.capped:
		return MaxHold
	case l.last != nil || l.life.asking:
		return RenewalsFailed
	}
	return Paused
}

func (l *Lease) reschedule() {
	at, _ := l.life.next()
	if l.home != nil && l.beats() {
		at = at.add(beatLag(l.life.ttl))
	}
	if lost := l.life.lostAt(); lost < at {
		at = lost
	}
	l.client.timers.set(&l.timer, at)
}

func (l *Lease) onTimer() {
	l.mu.Lock()
	at := now()
	l.loseIfDue(at)
	if l.state != held {
		l.unlock()
		return
	}
	due, renew := l.life.next()
	if !renew || due > at {
		l.reschedule()
		l.unlock()
		return
	}
	timeout := l.life.ask(at)
	l.reschedule()
	home, beats, ttl := l.home, l.beats(), l.life.ttl
	l.unlock()
	d, _ := l.client.daemons.current()
	if !beats || home == nil || home.daemon != d || !home.join(l, ttl, timeout) {
		go l.extendOnce(timeout)
	}
}

// renewal is the answer of an extend.
type renewal struct {
	outcome   outcome
	remaining time.Duration
	proof     string
	err       *Error
}

func (l *Lease) renewalOf(said answer) renewal {
	if said.err == nil {
		lease := said.result.GetExtend().GetLease()
		if said.err = checkLease(lease, l.name, l.id); said.err == nil && lease.FencingToken != l.token {
			said.err = &Error{Code: codes.Internal, Message: "the server's answer has another fencing token"}
		}
		if said.err == nil {
			return renewal{outcome: extended, remaining: durationOf(lease.RemainingTtl), proof: lease.Reassertion}
		}
	}
	switch {
	case said.err.noAnswer():
		return renewal{outcome: noAnswer, err: said.err}
	case said.err.Code == codes.FailedPrecondition && said.err.Reason == ReasonLeaseLost:
		return renewal{outcome: endedIt, err: said.err}
	}
	return renewal{outcome: refusedIt, err: said.err}
}

// extendOnce renews the lease by itself, and has the session in use keep it if another one did, or none.
func (l *Lease) extendOnce(timeout time.Duration) {
	d, number := l.client.daemons.current()
	l.mu.Lock()
	adopts := (l.home == nil || l.home.daemon != d) && l.asTTL == 0
	l.mu.Unlock()
	sent := now()
	said, adopted := l.sendExtend(d, adopts, timeout)
	if said.err != nil && adopted && !said.err.noAnswer() && said.err.Reason != ReasonLeaseLost {
		said, adopted = l.sendExtend(d, false, timeout) // the session takes no more leases
	}
	r := l.renewalOf(said)
	if r.outcome == noAnswer {
		l.client.daemons.failed(number, r.err)
	}
	if r.outcome == extended && adopted {
		l.movedTo(said.session)
	}
	l.renewed(sent, r)
}

// sendExtend returns the answer, and whether it is that of an adoption by its session.
func (l *Lease) sendExtend(d *daemon, adopts bool, timeout time.Duration) (said answer, adopted bool) {
	o := newOperation(extendOperation(l.name, l.id, l.token, l.Reassertion(), l.asTTL))
	o.adopts = adopts
	said = l.client.runOnce(context.Background(), d, o, timeout)
	return said, said.session != nil && o.adopts
}

func (l *Lease) movedTo(s *session) {
	l.mu.Lock()
	defer l.unlock()
	if l.state != held {
		s.forget(l.name, l.id)
		return
	}
	if l.home != nil {
		l.home.drop(l)
		l.home = nil
	}
	if kept, _ := s.keep(l); kept {
		l.home = s
	}
}

// renewed takes the answer of a renewal that was sent at `sent`.
func (l *Lease) renewed(sent instant, r renewal) {
	l.mu.Lock()
	defer l.unlock()
	at := now()
	l.loseIfDue(at)
	if l.state != held {
		return
	}
	l.last = r.err
	l.life.answer(at, sent, r.outcome, r.remaining, jitter())
	if l.life.lost {
		l.lose(lostByWord)
		return
	}
	if r.outcome == extended {
		l.alone = false
		l.takeProof(r.proof)
	}
	l.reschedule()
}

func (l *Lease) takeProof(proof string) {
	if proof != "" {
		l.proof = proof
	}
}

// beaten takes the proof that a heartbeat brought. It was sent at `sent`, and gives the whole ttl from then on; 0: it gives none.
func (l *Lease) beaten(sent instant, proof string) {
	l.mu.Lock()
	defer l.unlock()
	at := now()
	l.loseIfDue(at)
	if l.state != held {
		return
	}
	l.takeProof(proof)
	if sent == 0 || !l.beats() {
		return
	}
	l.last = nil
	l.life.answer(at, sent, extended, l.life.ttl, 0)
	l.reschedule()
}

// unbeaten is told that the heartbeat that was to renew the lease was not answered.
func (l *Lease) unbeaten(sent instant, err *Error) {
	l.mu.Lock()
	waited := l.waitsForBeat()
	l.alone = l.alone || waited
	l.unlock()
	if waited {
		l.renewed(sent, renewal{outcome: noAnswer, err: err})
	}
}

// unproved is told that the heartbeat that was to renew the lease brought no proof of it.
func (l *Lease) unproved() {
	l.mu.Lock()
	defer l.unlock()
	if l.waitsForBeat() {
		l.extendAlone(nil)
	}
}

func (l *Lease) waitsForBeat() bool { return l.state == held && l.life.asking && !l.alone }

// renewAlone is told that a heartbeat could not extend the lease.
func (l *Lease) renewAlone(why *Error) {
	l.mu.Lock()
	defer l.unlock()
	if l.state == held && !l.alone {
		l.extendAlone(why)
	}
}

// extendAlone extends the lease at once, and not by a heartbeat. With mu held.
func (l *Lease) extendAlone(why *Error) {
	l.last = why
	l.alone = true
	l.life.asking = false
	l.life.renewAt = now()
	l.reschedule()
}

// beats tells whether heartbeats may renew the lease, as long as none could not.
func (l *Lease) beats() bool { return !l.alone && l.asTTL == 0 && l.life.mayBeat() }

// orphaned is told that its session no longer keeps it. It is adopted by the next one soon.
func (l *Lease) orphaned(s *session) {
	l.mu.Lock()
	defer l.unlock()
	if l.state != held || l.home != s {
		return
	}
	l.home = nil
	spread := l.life.ttl / 10
	if spread > backoffMax {
		spread = backoffMax
	}
	soon := now().add(time.Duration(float64(spread) * jitter()))
	if soon < l.life.renewAt {
		l.life.renewAt = soon
		l.reschedule()
	}
}

// leaseContext looks at the clock before it says that the work may go on.
type leaseContext struct {
	context.Context
	lease *Lease
	end   func(error)
}

func (c leaseContext) Err() error {
	if cause := c.lease.Err(); cause != nil && cause != ErrReleased {
		c.end(cause)
	}
	return c.Context.Err()
}

// valuesOf is a context with the values of another one, and not its end.
type valuesOf struct{ context.Context }

func (valuesOf) Deadline() (time.Time, bool) { return time.Time{}, false }
func (valuesOf) Done() <-chan struct{}       { return nil }
func (valuesOf) Err() error                  { return nil }
