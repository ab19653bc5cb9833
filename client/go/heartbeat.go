// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"lockkeeper/client/go/internal/pb"
)

const (
	beatFrom      = 4                      // so many leases make a heartbeat worth it; below that each is extended by itself
	beatGatherMax = 500 * time.Millisecond // longest time for which a lease waits for others that are due
	lostEarlyMax  = 4096                   // bounds what is remembered of leases that are not known
)

// beats are the heartbeats of a session.
type beats struct {
	joining  []*Lease // the next one is for them
	joinedBy instant  // the latest time at which its answer is of use
	sendAt   instant  // 0: none is planned
	lastSent instant
	number   uint64
	inFlight []beat

	// Of the answer that is being read, by lease id.
	proofs map[string]string
	named  map[string]*pb.SessionLeaseLost // not extended, but not ended either
}

// beat is a heartbeat in flight.
type beat struct {
	number   uint64
	sent     instant
	answerBy instant
	leases   []*Lease
}

// keep adds a lease that the server keeps in this session. Not if the session is going away, or has named the lease as lost.
func (s *session) keep(l *Lease) (kept, lost bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost = s.lostEarly[l.id]
	kept = !lost && !s.retiring && !s.broken
	if kept {
		s.held[l.id] = l
	}
	return kept, lost
}

func (s *session) drop(l *Lease) {
	s.mu.Lock()
	delete(s.held, l.id)
	s.mu.Unlock()
}

// forget leaves the lease to its ttl: a heartbeat for others would keep it.
func (s *session) forget(name, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.held, id)
	s.sayForget(name, id)
}

// sayForget is forget with the mutex held, for a lease that is not kept here.
func (s *session) sayForget(name, id string) {
	s.say(&pb.SessionRequest{Message: &pb.SessionRequest_Forget{Forget: &pb.SessionForget{Name: name, LeaseId: id}}})
}

// orphan tells the leases that this session no longer keeps them.
func (s *session) orphan() {
	s.mu.Lock()
	held := s.held
	s.held = map[string]*Lease{}
	s.mu.Unlock()
	for _, l := range held {
		l.orphaned(s)
	}
}

// join has the lease renewed by the next heartbeat. False if it has to be renewed by itself.
func (s *session) join(l *Lease, ttl, timeout time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opened || !s.usable() || len(s.held) < beatFrom || s.held[l.id] != l {
		return false
	}
	b := &s.beats
	at := now()
	if len(b.joining) == 0 || at.add(timeout) < b.joinedBy {
		b.joinedBy = at.add(timeout)
	}
	b.joining = append(b.joining, l)
	// Leases that are due shortly after one another share a heartbeat.
	at = at.add(shortest(ttl/60, beatGatherMax, timeout/4))
	if next := b.lastSent.add(shortest(ttl/20, timeout/4)); next > at {
		at = next
	}
	if b.sendAt == 0 || at < b.sendAt {
		b.sendAt = at
	}
	s.armBeats()
	return true
}

func shortest(d time.Duration, others ...time.Duration) time.Duration {
	for _, other := range others {
		if other < d {
			d = other
		}
	}
	return d
}

// armBeats sets the timer to the next heartbeat to send, or answer to give up. With the mutex held.
func (s *session) armBeats() {
	next := s.beats.sendAt
	for _, one := range s.beats.inFlight {
		if next == 0 || one.answerBy < next {
			next = one.answerBy
		}
	}
	if next != 0 {
		s.daemon.timers.set(&s.timer, next)
	}
}

func (s *session) onBeatTimer() {
	s.mu.Lock()
	b := &s.beats
	at := now()
	if b.sendAt != 0 && b.sendAt <= at {
		b.number++
		b.inFlight = append(b.inFlight, beat{number: b.number, sent: at, answerBy: b.joinedBy, leases: b.joining})
		b.joining, b.sendAt, b.lastSent = nil, 0, at
		s.say(&pb.SessionRequest{Message: &pb.SessionRequest_Heartbeat{Heartbeat: &pb.SessionHeartbeat{Number: b.number}}})
	}
	var late, rest []beat
	for _, one := range b.inFlight {
		if one.answerBy > at {
			rest = append(rest, one)
			continue
		}
		late = append(late, one)
		s.suspect = s.suspect || s.heardAt < one.sent
	}
	b.inFlight = rest
	s.armBeats()
	s.mu.Unlock()
	s.beatsFailed(late, unavailable("", "the heartbeat was not answered in time"))
}

// takeBeats takes all heartbeats out, sent or not.
func (s *session) takeBeats() []beat {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(s.beats.inFlight, beat{leases: s.beats.joining})
	s.beats = beats{}
	return all
}

// beatsFailed has the leases extended by themselves until that has an answer.
func (s *session) beatsFailed(failed []beat, err *Error) {
	for _, one := range failed {
		for _, l := range one.leases {
			l.unbeaten(one.sent, err)
		}
	}
}

func (s *session) onBeaten(result *pb.SessionHeartbeatResult) {
	s.mu.Lock()
	b := &s.beats
	if b.proofs == nil {
		b.proofs, b.named = map[string]string{}, map[string]*pb.SessionLeaseLost{}
	}
	for id, proof := range result.Reassertions {
		b.proofs[id] = proof
	}
	var lost []*pb.SessionLeaseLost
	for _, one := range result.NotExtended {
		if one.Reason == pb.ErrorReason_ERROR_REASON_LEASE_LOST {
			lost = append(lost, one)
		} else {
			b.named[one.LeaseId] = one
		}
	}
	var answered []beat
	proved := map[*Lease]string{}
	sent := instant(0) // of a heartbeat that was given up: its proofs are good, but nothing is counted from it
	named := b.named
	if !result.More {
		var rest []beat
		for _, one := range b.inFlight {
			if one.number > result.Number {
				rest = append(rest, one)
				continue
			}
			answered = append(answered, one) // it answers all before it, too
			if one.number == result.Number {
				sent = one.sent
			}
		}
		for id, proof := range b.proofs {
			if l := s.held[id]; l != nil {
				proved[l] = proof
			}
		}
		b.inFlight, b.proofs, b.named = rest, nil, nil
		s.armBeats()
	}
	s.mu.Unlock()

	for _, one := range lost {
		s.onLost(one)
	}
	if result.More {
		return
	}
	for l, proof := range proved {
		if named[l.id] != nil {
			l.beaten(0, proof)
		} else {
			l.beaten(sent, proof)
		}
	}
	for _, one := range named {
		s.onLost(one)
	}
	// What became of the others their own extends tell.
	for _, one := range answered {
		for _, l := range one.leases {
			if _, ok := proved[l]; !ok {
				l.unproved()
			}
		}
	}
}

// onLost is told of a lease that could not be kept, perhaps before the result that grants it.
func (s *session) onLost(named *pb.SessionLeaseLost) {
	ended := named.Reason == pb.ErrorReason_ERROR_REASON_LEASE_LOST
	s.mu.Lock()
	l := s.held[named.LeaseId]
	if ended {
		delete(s.held, named.LeaseId)
		if l == nil {
			if len(s.lostEarly) >= lostEarlyMax {
				s.lostEarly = map[string]bool{}
			}
			s.lostEarly[named.LeaseId] = true
		}
	}
	s.mu.Unlock()
	if l == nil {
		return
	}
	reason := Reason(strings.TrimPrefix(named.Reason.String(), "ERROR_REASON_"))
	if ended {
		l.renewed(now(), renewal{outcome: endedIt, err: &Error{Code: codes.FailedPrecondition, Reason: reason, Message: "the lease has ended"}})
		return
	}
	l.renewAlone(unavailable(reason, "the heartbeat could not extend the lease"))
}
