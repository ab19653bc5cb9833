// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"math"
	"time"

	"lockkeeper/client/go/internal/pb"
)

// The rules of "Observing a leader" in client/README.md, as pure code: events and the answers of looks go in, and come out as who leads and
// when to look.

const (
	lookEvery = 10 * time.Second
	// How long the first look waits for the stream to start. A daemon says within 2 s that it has; a proxy may pass no stream on.
	startTimeout = 5 * time.Second
	never        = instant(math.MaxInt64)
)

// Leader is the holder of a lock that is observed.
type Leader struct {
	Token     int64  // the fencing token: the number of the term
	Owner     string // as the holder names itself; "" if that is not known
	Principal string // authenticated identity of the holder; "" if it is anonymous or not known
}

// leaderRules know who leads.
type leaderRules struct {
	known  bool    // whether anybody leads
	leader *Leader // nil: nobody
	token  int64   // the highest that was seen
	ended  bool    // the end of its lease was seen

	lookAt  instant // when to look next
	looking bool    // a look is in flight
	passed  bool    // an event has overtaken it
}

// begin notes that a stream is opened. What was seen before stays true.
func (r *leaderRules) begin(now instant) {
	r.looking = false
	r.lookAt = now.add(startTimeout)
}

// nextLook is when to look next. The answer to a look comes in time, or else its error does.
func (r *leaderRules) nextLook() instant {
	if r.looking {
		return never
	}
	return r.lookAt
}

func (r *leaderRules) mustLook(now instant) bool { return r.nextLook() <= now }

// look notes that a look is sent.
func (r *leaderRules) look(now instant) {
	r.looking, r.passed = true, false
	r.lookAt = now.add(lookEvery)
}

// event takes an event of the stream. True: what it says of the leader is new.
func (r *leaderRules) event(now instant, e *pb.LockEvent) bool {
	switch e.Kind {
	case pb.LockEventKind_LOCK_EVENT_KIND_STARTED, pb.LockEventKind_LOCK_EVENT_KIND_GAP,
		pb.LockEventKind_LOCK_EVENT_KIND_QUARANTINE_ENDED:
		r.lookAt = now
		return false
	case pb.LockEventKind_LOCK_EVENT_KIND_QUARANTINE_BEGAN, pb.LockEventKind_LOCK_EVENT_KIND_WAITING,
		pb.LockEventKind_LOCK_EVENT_KIND_LEFT:
		return false
	}
	token := e.FencingToken
	higher := token > r.token
	switch {
	case token <= 0: // of which lease is not known
	case token < r.token:
		return false
	case e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_GRANTED:
		if !higher && r.ended {
			return false
		}
		r.raise(token)
		if r.isLeading(token) {
			return false
		}
		r.passed = true    // a look may have seen its offer
		if e.Owner != "" { // else its daemon has not seen the acquire: the store knows
			return r.leads(&Leader{Token: token, Owner: e.Owner, Principal: e.Principal})
		}
	case e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_OFFERED:
		r.raise(token)
		return higher && r.leads(nil)
	case e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_RELEASED, e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_EXPIRED,
		e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_TAKEN_BACK, e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_FORCED:
		r.raise(token)
		r.passed = r.passed || !r.ended
		r.ended = true
		return r.leads(nil)
	case e.Kind == pb.LockEventKind_LOCK_EVENT_KIND_EXTENDED:
		if r.isLeading(token) {
			return false
		}
		r.raise(token)
	}
	r.lookAt = now
	return false
}

func (r *leaderRules) isLeading(token int64) bool { return r.leader != nil && r.leader.Token == token }

// raise takes a token that is not lower than those before. That of a LOST is never one: any client can have made it up.
func (r *leaderRules) raise(token int64) {
	if token > r.token {
		r.token, r.ended, r.passed = token, false, true
	}
}

// looked takes the answer of a look. True: what it says of the leader is new.
func (r *leaderRules) looked(now instant, said *pb.GetLockResponse) bool {
	r.looking = false
	if r.passed {
		r.lookAt = now
		return false
	}
	lock, state := said.Lock, said.Lock.GetState()
	token := lock.GetFencingToken()
	held := state == pb.LockState_LOCK_STATE_HELD
	if held && token < r.token { // the daemon reads from a store that is behind
		return false
	}
	r.raise(token)
	switch {
	case held:
		r.ended = false
		return r.leads(&Leader{Token: token, Owner: lock.Owner, Principal: lock.Principal})
	case said.QuarantineLeft != nil:
		if over := now.add(atLeast(backoffFirst, durationOf(said.QuarantineLeft))); over < r.lookAt {
			r.lookAt = over
		}
		return false
	case state == pb.LockState_LOCK_STATE_UNPROVEN: // the end of the quarantine is told
		return false
	}
	if state != pb.LockState_LOCK_STATE_OFFERED || token < r.token {
		r.ended = true
	}
	return r.leads(nil)
}

// leads takes who leads. True: that is new.
func (r *leaderRules) leads(who *Leader) bool {
	same := who == nil && r.leader == nil || who != nil && r.isLeading(who.Token)
	if r.known && same {
		return false
	}
	r.known, r.leader = true, who
	return true
}
