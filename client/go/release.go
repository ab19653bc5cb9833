// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"

	"lockkeeper/client/go/internal/pb"
)

const (
	releaseTryTimeout  = time.Second
	pendingReleasesMax = 10_000 // beyond it a release has only one attempt; if that fails, the ttl ends the lease
)

// NotReleased says why a release freed nothing: a warning, not a failure.
type NotReleased string

const (
	Expired       NotReleased = "EXPIRED"        // the lease had ended before: its holder may have worked unprotected
	NotHolder     NotReleased = "NOT_HOLDER"     // the lease id does not hold the lock, or is not known any more
	WaiterRemoved NotReleased = "WAITER_REMOVED" // the lease id stood in line and has left it
)

// ReleaseResult is what a release found.
type ReleaseResult struct {
	Released bool
	Reason   NotReleased // "" if it was released
}

// pendingRelease is a release in flight.
type pendingRelease struct {
	done   chan struct{}
	result ReleaseResult
	err    error
}

func finishedRelease(result ReleaseResult, err error) *pendingRelease {
	p := &pendingRelease{done: make(chan struct{}), result: result, err: err}
	close(p.done)
	return p
}

func (p *pendingRelease) wait(ctx context.Context, timeout time.Duration) (ReleaseResult, error) {
	select {
	case <-p.done: // also if ctx has ended
		return p.result, p.err
	default:
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
		return ReleaseResult{}, contextError(ctx)
	case <-timer.C:
		return ReleaseResult{}, &Error{
			Code: codes.DeadlineExceeded, Message: "the release was not answered in time; the client retries it in the background",
		}
	}
}

// releaseInBackground retries until there is an answer, or giveUpAt has passed, also when the caller's ctx has ended. home is the session
// that keeps the lease, or nil: if the release fails, its heartbeats leave the lease alone.
func (c *Client) releaseInBackground(ctx context.Context, name, id string, giveUpAt instant, home *session) *pendingRelease {
	p := &pendingRelease{done: make(chan struct{})}
	c.mu.Lock()
	c.releases++
	if c.releases > pendingReleasesMax {
		giveUpAt = now()
	}
	c.mu.Unlock()
	go func() {
		p.result, p.err = c.releaseUntil(ctx, name, id, giveUpAt)
		if p.err != nil && home != nil {
			home.forget(name, id)
		}
		close(p.done)
		c.mu.Lock()
		c.releases--
		c.mu.Unlock()
		c.idle.Broadcast()
	}()
	return p
}

func (c *Client) releaseUntil(ctx context.Context, name, id string, giveUpAt instant) (ReleaseResult, error) {
	for failures := 0; ; {
		d, number := c.daemons.current()
		said := c.runOnce(c.ctx, d, c.operationOf(ctx, &pb.SessionOperation{
			Operation: &pb.SessionOperation_Release{Release: &pb.ReleaseRequest{Name: name, LeaseId: id}},
		}), releaseTryTimeout)
		if said.err == nil {
			return releasedFrom(said.result.GetRelease(), failures > 0)
		}
		if !said.err.noAnswer() || c.ctx.Err() != nil {
			return ReleaseResult{}, said.err
		}
		failures++
		c.daemons.failed(number, said.err)
		delay := backoff(failures, backoffMax, jitter())
		if now().add(delay) >= giveUpAt || !pause(c.ctx, delay) {
			return ReleaseResult{}, said.err
		}
	}
}

// releasedFrom reads the answer. NOT_HOLDER on a retry counts as released: the attempt without an answer has released it.
func releasedFrom(r *pb.ReleaseResponse, retried bool) (ReleaseResult, error) {
	switch {
	case r == nil:
		return ReleaseResult{}, &Error{Code: codes.Internal, Message: "the server's answer is of another kind than the request"}
	case r.Released:
		return ReleaseResult{Released: true}, nil
	case r.Reason == pb.NotReleasedReason_NOT_RELEASED_REASON_EXPIRED:
		return ReleaseResult{Reason: Expired}, nil
	case r.Reason == pb.NotReleasedReason_NOT_RELEASED_REASON_WAITER_REMOVED:
		return ReleaseResult{Reason: WaiterRemoved}, nil
	case retried && r.Reason == pb.NotReleasedReason_NOT_RELEASED_REASON_NOT_HOLDER:
		return ReleaseResult{Released: true}, nil
	}
	return ReleaseResult{Reason: NotHolder}, nil
}
