// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"lockkeeper/client/go/internal/pb"
)

const (
	tryTimeout = 3 * time.Second  // for the answer to one attempt, without its wait in line
	ttlDefault = 30 * time.Second // of the server, for an acquire whose grant is not known
	placeKept  = 30 * time.Second // the store keeps a place in line so long after the last sign of life of its daemon
)

// retryRule says whether a call is tried again, and when.
type retryRule struct {
	deadline  instant
	addresses int
	failures  int
}

// timeout is how long an attempt may take, without its wait in line.
func (r *retryRule) timeout(now instant) time.Duration {
	left := r.deadline.since(now)
	if left > tryTimeout {
		left = tryTimeout
	}
	return atLeast(time.Millisecond, left)
}

// delayAfter is the delay before the next attempt, after one that began at `began` and failed. False: there is no other attempt. The next
// address is tried at once until all were tried. The delays begin again after an attempt that lasted long, as in line: a long delay could
// cost it its place.
func (r *retryRule) delayAfter(err *Error, began, now instant) (time.Duration, bool) {
	if !err.mayPass() {
		return 0, false
	}
	if now.since(began) > backoffMax {
		r.failures = 0
	}
	r.failures++
	delay := time.Duration(0)
	if r.failures%r.addresses == 0 {
		delay = backoff(r.failures/r.addresses, backoffMax, jitter())
	}
	delay = atLeast(err.RetryDelay, delay)
	return delay, now.add(delay) < r.deadline
}

// pause waits. False: ctx ended meanwhile.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// newLeaseID is a credential.
func newLeaseID() string {
	var bits [16]byte
	if _, err := rand.Read(bits[:]); err != nil {
		panic("lockkeeper: no random bits: " + err.Error())
	}
	return hex.EncodeToString(bits[:])
}

// plainID is a lease id as the server writes it.
func plainID(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }

// grant is an answer with a lease.
type grant struct {
	lease   *pb.Lease
	sent    instant  // of the request whose answer counts
	session *session // that keeps it on the server; nil: none
}

// acquisition is one acquire, from the first attempt to a definite answer, or until the caller's time is up.
type acquisition struct {
	client     *Client
	request    *pb.AcquireRequest
	ownID      bool // the id is ours: we may take a new one
	wait       time.Duration
	unresolved bool // an attempt without an answer may have been granted, or may still stand in line
}

func (a *acquisition) newID() {
	a.request.LeaseId = newLeaseID()
	a.unresolved = false // the old id can no longer get a grant
}

// run returns either a grant, or why there is none.
func (a *acquisition) run(ctx context.Context) (*grant, error) {
	begin := now()
	waitEnd := begin.add(a.wait)
	ds := a.client.daemons
	rule := retryRule{deadline: waitEnd.add(a.client.options.CallTimeout), addresses: len(ds.all)}
	for attempt := int32(1); ; attempt++ {
		began := now()
		wait := atLeast(0, waitEnd.since(began))
		d, number := ds.current()
		g, contention, lapsed, err := a.try(ctx, d, attempt, wait, rule.timeout(began.add(wait)))
		switch {
		case g != nil:
			waited := durationOf(g.lease.Waited)
			if a.wait > 0 {
				waited += began.since(begin)
			}
			g.lease.Waited = toProto(waited)
			return g, nil
		case contention != nil:
			return nil, notAcquired(a.request.Name, contention, a.wait > 0)
		}
		a.request = proto.Clone(a.request).(*pb.AcquireRequest) // that of the attempt may be written still
		if attempt > 1 && err.Reason == ReasonLeaseEnded && a.ownID {
			a.newID()
			attempt = 0
			continue
		}
		if lapsed || !err.leftNothing() {
			a.unresolved = true
		}
		if ctx.Err() != nil {
			return nil, contextError(ctx)
		}
		if a.client.isClosed() {
			return nil, ErrClosed
		}
		delay, again := rule.delayAfter(err, began, now())
		if !again {
			return nil, err
		}
		if !lapsed { // a lapsed offer is no failure of its daemon: the acquire goes on waiting there
			ds.failed(number, err)
		}
		if !pause(ctx, delay) {
			return nil, contextError(ctx)
		}
	}
}

// try is one attempt: the acquire and, if the answer is an offer, the claim. lapsed: there was an offer that was not claimed.
func (a *acquisition) try(ctx context.Context, d *daemon, attempt int32, wait, timeout time.Duration) (
	g *grant, contention *pb.Contention, lapsed bool, err *Error,
) {
	request := a.request
	request.Attempt = attempt
	request.WaitTimeout = toProto(wait)
	sent := now()
	said := a.client.runOnce(ctx, d, a.client.operationOf(ctx, &pb.SessionOperation{
		Operation: &pb.SessionOperation_Acquire{Acquire: request},
	}), wait+timeout)
	if said.err != nil {
		return nil, nil, false, said.err
	}
	answer := said.result.GetAcquire()
	if contention := answer.GetContention(); contention != nil {
		return nil, contention, false, nil
	}
	lease := answer.GetLease()
	if err := checkLease(lease, request.Name, request.LeaseId); err != nil {
		return nil, nil, false, err
	}
	if !lease.Offered {
		return &grant{lease: lease, sent: sent, session: said.session}, nil, false, nil
	}
	g, err = a.claim(ctx, d, lease, timeout)
	if err != nil {
		if err.Reason == ReasonLeaseLost {
			return nil, nil, true, unavailable(ReasonOutcomeUnknown, "the offer ended before it was claimed")
		}
		a.unresolved = true
		return nil, nil, false, err
	}
	if g.session != said.session { // only the session of the offer keeps the lease by this claim
		g.session = nil
	}
	return g, nil, false, nil
}

// claim turns an offer into a lease, which counts from the sending of the claim.
func (a *acquisition) claim(ctx context.Context, d *daemon, offer *pb.Lease, timeout time.Duration) (*grant, *Error) {
	if left := durationOf(offer.RemainingTtl); left < timeout {
		timeout = atLeast(time.Millisecond, left)
	}
	sent := now()
	request := extendOperation(offer.Name, a.request.LeaseId, 0, "", 0)
	said := a.client.runOnce(ctx, d, a.client.operationOf(ctx, request), timeout)
	if said.err != nil {
		return nil, said.err
	}
	lease := said.result.GetExtend().GetLease()
	if err := checkLease(lease, a.request.Name, a.request.LeaseId); err != nil {
		return nil, err
	}
	lease.Waited, lease.PreviousLeaseExpired = offer.Waited, offer.PreviousLeaseExpired
	return &grant{lease: lease, sent: sent, session: said.session}, nil
}

// checkLease refuses an answer that grants nothing, or something else.
func checkLease(lease *pb.Lease, name, id string) *Error {
	switch {
	case lease == nil:
		return &Error{Code: codes.Internal, Message: "the server's answer has no lease"}
	case lease.Name != name || plainID(lease.LeaseId) != plainID(id):
		return &Error{Code: codes.Internal, Message: "the server's answer is about another lease"}
	case lease.FencingToken <= 0:
		return &Error{Code: codes.Internal, Message: "the server's answer has no fencing token"}
	}
	return nil
}

func notAcquired(name string, c *pb.Contention, waited bool) error {
	reason := Held
	switch c.Reason {
	case pb.ContentionReason_CONTENTION_REASON_CANCELLED:
		reason = Cancelled
	case pb.ContentionReason_CONTENTION_REASON_CLOSED:
		reason = Closed
	case pb.ContentionReason_CONTENTION_REASON_WAIT_TIMED_OUT:
		reason = WaitTimedOut
	}
	if waited && reason != Cancelled { // also if the last attempt had no time left to wait
		reason = WaitTimedOut
	}
	return &NotAcquiredError{
		Name: name, Reason: reason, HolderOwner: c.HolderOwner, Remaining: durationOf(c.RemainingTtl),
		Position: int(c.Position), Waiters: int(c.Waiters),
	}
}

func extendOperation(name, id string, token int64, proof string, ttl time.Duration) *pb.SessionOperation {
	return &pb.SessionOperation{Operation: &pb.SessionOperation_Extend{Extend: &pb.ExtendRequest{
		Name: name, LeaseId: id, FencingToken: token, Reassertion: proof, Ttl: toProto(ttl),
	}}}
}
