// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"testing"

	"lockkeeper/client/go/internal/pb"
)

const chosenID = "01234567-89AB-cdef-0123-456789abcdef"

// offline is a session that is open, and has no stream: what it would write stays in its queues.
func offline() *session {
	s := &session{entries: map[uint64]*operation{}, adopting: map[string]*operation{}, held: map[string]*Lease{}, opened: true, sentMax: 100}
	s.changed.L = &s.mu
	return s
}

// sending sends the operation, and returns the message that carries it.
func sending(t *testing.T, s *session, o *operation) *pb.SessionRequest {
	t.Helper()
	if !s.add(o) {
		t.Fatal("the session does not take the operation")
	}
	message := s.takeQueued()
	if message == nil {
		t.Fatal("the operation is not sent")
	}
	s.heardAt = now() // else the session is suspect once an operation is given up
	return message
}

// acquiring sends an acquire with the chosen lease id.
func acquiring(t *testing.T, s *session) *operation {
	t.Helper()
	o := newOperation(&pb.SessionOperation{Operation: &pb.SessionOperation_Acquire{
		Acquire: &pb.AcquireRequest{Name: "job", LeaseId: chosenID},
	}})
	sending(t, s, o)
	return o
}

func adoption() *operation {
	o := newOperation(extendOperation("job", plainID(chosenID), fakeToken, "", 0))
	o.adopts = true
	return o
}

func (s *session) extend(o *operation) {
	s.onResult(&pb.SessionResult{OperationId: o.id, Result: &pb.SessionResult_Extend{
		Extend: &pb.ExtendResponse{Lease: fakeLease(ttl)},
	}})
}

func (s *session) adopted() {
	s.onAdopted(&pb.SessionAdoptResult{
		Name: "job", LeaseId: plainID(chosenID), Result: &pb.SessionAdoptResult_Lease{Lease: fakeLease(ttl)},
	})
}

func (s *session) grant(o *operation) {
	s.onResult(&pb.SessionResult{OperationId: o.id, Result: &pb.SessionResult_Acquire{Acquire: &pb.AcquireResponse{
		Outcome: &pb.AcquireResponse_Lease{Lease: &pb.Lease{Name: "job", LeaseId: plainID(chosenID)}},
	}}})
}

// forgotten counts what is said of leases that are left to their ttl.
func (s *session) forgotten() int {
	count := 0
	for _, message := range s.controls {
		if message.GetForget() != nil {
			count++
		}
	}
	return count
}

func TestAGrantThatNobodyAwaitsIsForgotten(t *testing.T) {
	s := offline()
	o := acquiring(t, s)
	s.giveUp(o)
	s.grant(o)
	if s.forgotten() != 1 {
		t.Errorf("the lease is left %d times", s.forgotten())
	}
}

func TestAGrantThatIsAskedForAgainIsKept(t *testing.T) {
	s := offline()
	first := acquiring(t, s)
	s.giveUp(first)
	second := acquiring(t, s)
	s.grant(first)
	if s.forgotten() != 0 {
		t.Error("the lease is left, though an acquire asks for it")
	}
	s.grant(second)
	if got := <-second.done; got.result.GetAcquire().GetLease() == nil {
		t.Errorf("the second acquire is answered %v", got)
	}

	third := acquiring(t, s)
	s.giveUp(third)
	s.held[plainID(chosenID)] = &Lease{}
	s.grant(third)
	if s.forgotten() != 0 {
		t.Error("the lease is left, though it is kept here")
	}
}

func TestAClaimThatNobodyAwaitsIsForgotten(t *testing.T) {
	s := offline()
	o := newOperation(extendOperation("job", chosenID, 0, "", 0))
	sending(t, s, o)
	s.giveUp(o)
	s.extend(o)
	if s.forgotten() != 1 {
		t.Errorf("the lease is left %d times", s.forgotten())
	}
}

func TestAGrantThatOnlyTheGivenUpAskForIsForgotten(t *testing.T) {
	s := offline()
	first := acquiring(t, s)
	s.giveUp(first)
	second := acquiring(t, s)
	s.giveUp(second)
	s.grant(first)
	if s.forgotten() != 1 {
		t.Errorf("the lease is left %d times", s.forgotten())
	}
}

func TestALeaseIsNotAdoptedAgainBeforeTheAnswer(t *testing.T) {
	s := offline()
	first := adoption()
	if sending(t, s, first).GetAdopt() == nil {
		t.Error("the first is no adoption")
	}
	s.giveUp(first)
	unsent := adoption()
	if !s.add(unsent) {
		t.Fatal("the session does not take the operation")
	}
	s.giveUp(unsent)
	second := adoption()
	if sending(t, s, second).GetBatch() == nil || second.adopts {
		t.Error("the second is an adoption, whose answer nobody could tell from that of the first")
	}

	s.adopted()
	if len(second.done) > 0 {
		t.Error("the answer of the first answers the second")
	}
	if s.forgotten() != 1 {
		t.Errorf("the lease that nobody waits for is left %d times", s.forgotten())
	}
	s.extend(second)
	if len(second.done) == 0 {
		t.Error("the second is not answered")
	}
	if len(s.entries) > 0 {
		t.Error("the session waits for another answer, and would never end")
	}
	if sending(t, s, adoption()).GetAdopt() == nil {
		t.Error("a lease is not adopted again after the answer")
	}
}
