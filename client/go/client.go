// SPDX-License-Identifier: Apache-2.0

// Package lockkeeper is the client of lockkeeper: named locks with fencing tokens.
//
//	client, err := lockkeeper.New(lockkeeper.Options{Servers: []string{"db1:7600"}})
//	...
//	err = client.With(ctx, "report", lockkeeper.AcquireOptions{}, func(ctx context.Context, lease *lockkeeper.Lease) error {
//		return writeReport(ctx, lease.Token())
//	})
//
// client/README.md is the contract that the clients of all languages keep.
package lockkeeper

import (
	"context"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	"lockkeeper/client/go/internal/pb"
)

// Client is the client of one service: its connections, and the renewal of its leases. Use one per process. All methods may be called
// from any goroutine.
type Client struct {
	options Options
	timers  *timers
	daemons *daemons
	ctx     context.Context // ends when the client is closed
	stop    context.CancelFunc

	mu       sync.Mutex
	idle     sync.Cond // releases is 0
	leases   map[*Lease]bool
	releases int // in flight
	closed   bool

	leaderships map[*Leadership]bool
	observers   map[*LeaderObserver]bool
}

// New makes a client. It does not connect yet. An error names the option that it cannot use.
func New(options Options) (*Client, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	timers, err := newTimers()
	if err != nil {
		return nil, err
	}
	daemons, problem := newDaemons(&options, timers)
	if problem != nil {
		timers.close()
		return nil, problem
	}
	c := &Client{
		options: options, timers: timers, daemons: daemons, leases: map[*Lease]bool{}, leaderships: map[*Leadership]bool{},
		observers: map[*LeaderObserver]bool{},
	}
	c.idle.L = &c.mu
	c.ctx, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Acquire acquires the lock. If it is not free at the end of options.Wait, errors.Is(err, ErrNotAcquired). It takes at most options.Wait
// and CallTimeout, and ends early with ctx. If it ends without an answer, the client releases the lease id in the background. The lease
// does not end with ctx: release it.
func (c *Client) Acquire(ctx context.Context, name string, options AcquireOptions) (*Lease, error) {
	request, problem := options.request(name, c.options.Owner)
	if problem != nil {
		return nil, problem
	}
	if c.isClosed() {
		return nil, ErrClosed
	}
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	a := &acquisition{client: c, request: request, ownID: request.LeaseId == "", wait: options.Wait}
	if a.ownID {
		a.newID()
	}
	expiresIn := options.TTL
	if expiresIn == 0 {
		expiresIn = ttlDefault
	}
	if options.Wait > 0 {
		expiresIn += placeKept
	}
	g, err := a.run(ctx)
	if err != nil {
		if a.unresolved && a.ownID {
			c.releaseInBackground(ctx, name, a.request.LeaseId, now().add(expiresIn), nil)
		}
		return nil, err
	}
	lease, err := c.hold(ctx, g, terms{maxHold: options.MaxHold, stopMargin: options.StopMargin}, 0)
	if err != nil {
		c.releaseInBackground(ctx, name, a.request.LeaseId, now().add(expiresIn), nil)
		return nil, err
	}
	return lease, nil
}

// hold begins to renew a granted lease.
func (c *Client) hold(ctx context.Context, g *grant, t terms, asTTL time.Duration) (*Lease, error) {
	t.ttl = asTTL
	if t.ttl == 0 {
		t.ttl = durationOf(g.lease.Ttl)
	}
	if t.stopMargin > stopMarginMax(t.ttl) {
		return nil, invalid("stop_margin", "leaves no time to renew a lease of the granted ttl")
	}
	l := c.newLease(ctx, g, t, asTTL)
	if l.life.lostAt() <= now() {
		return nil, &Error{Code: codes.DeadlineExceeded, Message: "the answer arrived after the lease had ended"}
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, ErrClosed
	}
	c.leases[l] = true
	c.mu.Unlock()
	l.begin(g.session)
	return l, nil
}

// With acquires the lock, runs fn once, and releases, also if fn panics. The context of fn ends with ctx, and when the lease is lost. With
// returns the error of fn if it has one; else a *LostError if the lease was lost before fn returned; and the error of the acquire, without
// running fn, if the lock was not granted.
func (c *Client) With(
	ctx context.Context, name string, options AcquireOptions, fn func(ctx context.Context, lease *Lease) error,
) error {
	lease, err := c.Acquire(ctx, name, options)
	if err != nil {
		return err
	}
	work, end := withCause(ctx)
	defer func() {
		end(ErrReleased)
		wait, stop := context.WithCancel(valuesOf{ctx})
		defer stop()
		if !lease.Held() {
			stop() // the caller has to hear of the loss, and not to wait
		}
		_, _ = lease.Release(wait) // the work is done; what is left ends with the ttl
	}()
	go func() {
		select {
		case <-lease.lost:
			end(lease.Err())
		case <-work.Done():
		}
	}()
	err = fn(leaseContext{work, lease, end}, lease)
	var lost *LostError
	if err == nil && errors.As(lease.Err(), &lost) {
		return lost
	}
	return err
}

// Adopt takes over a live lease that another client detached: it extends it, and renews it from now on.
func (c *Client) Adopt(ctx context.Context, name, leaseID string, options AdoptOptions) (*Lease, error) {
	if options.TTL < 0 {
		return nil, invalid("ttl", "must not be negative")
	}
	if options.StopMargin < 0 {
		return nil, invalid("stop_margin", "must not be negative")
	}
	if err := checkTexts(name, leaseID, options.Reassertion); err != nil {
		return nil, err
	}
	sent, said := c.runUntilAnswered(ctx, func() *pb.SessionOperation {
		return extendOperation(name, leaseID, options.Token, options.Reassertion, options.TTL)
	})
	if said.err != nil {
		return nil, said.err
	}
	lease := said.result.GetExtend().GetLease()
	if err := checkLease(lease, name, leaseID); err != nil {
		return nil, err
	}
	return c.hold(ctx, &grant{lease: lease, sent: sent}, terms{stopMargin: options.StopMargin}, options.TTL)
}

func checkTexts(name, leaseID, reassertion string) *Error {
	switch {
	case !utf8.ValidString(name):
		return invalid("name", "must be UTF-8")
	case !utf8.ValidString(leaseID):
		return invalid("lease_id", "must be UTF-8")
	case !utf8.ValidString(reassertion):
		return invalid("reassertion", "must be UTF-8")
	}
	return nil
}

// Release releases by lease id, for a lease that this process does not hold. It takes at most CallTimeout.
func (c *Client) Release(ctx context.Context, name, leaseID string) (ReleaseResult, error) {
	if err := checkTexts(name, leaseID, ""); err != nil {
		return ReleaseResult{}, err
	}
	if c.isClosed() {
		return ReleaseResult{}, ErrClosed
	}
	timeout := c.options.CallTimeout
	return c.releaseInBackground(ctx, name, leaseID, now().add(timeout), nil).wait(ctx, timeout+releaseTryTimeout)
}

// Verdict is what a Fence found. Everything but Admitted means: reject the access.
type Verdict string

const (
	Admitted     Verdict = "ADMITTED"      // the newest token of the lock and, if asked, its lease is live
	Stale        Verdict = "STALE"         // a higher token was granted
	TokenExpired Verdict = "EXPIRED"       // the newest token, but its lease is over
	UnknownToken Verdict = "UNKNOWN_TOKEN" // never granted, or the service does not remember
	UnknownWord  Verdict = ""              // the server sent a verdict that this version does not know
)

// FenceResult is the answer of a Fence.
type FenceResult struct {
	Verdict Verdict
	Newest  int64 // the newest token; 0 if none is known
}

// FenceOptions say what a Fence checks.
type FenceOptions struct {
	RequireLive bool // the token's lease must be live as well
}

// Fence asks whether a token is the newest one of the lock, for a resource that cannot store the highest token it has seen. An error
// means: reject the access. It takes at most CallTimeout.
func (c *Client) Fence(ctx context.Context, name string, token int64, options FenceOptions) (FenceResult, error) {
	if err := checkTexts(name, "", ""); err != nil {
		return FenceResult{}, err
	}
	_, said := c.runUntilAnswered(ctx, func() *pb.SessionOperation {
		return &pb.SessionOperation{Operation: &pb.SessionOperation_Fence{Fence: &pb.FenceRequest{
			Name: name, FencingToken: token, RequireLiveLease: options.RequireLive,
		}}}
	})
	if said.err != nil {
		return FenceResult{}, said.err
	}
	found := said.result.GetFence()
	if found == nil {
		return FenceResult{}, &Error{Code: codes.Internal, Message: "the server's answer is of another kind than the request"}
	}
	verdicts := map[pb.Verdict]Verdict{
		pb.Verdict_VERDICT_ADMITTED: Admitted, pb.Verdict_VERDICT_STALE: Stale, pb.Verdict_VERDICT_EXPIRED: TokenExpired,
		pb.Verdict_VERDICT_UNKNOWN_TOKEN: UnknownToken,
	}
	return FenceResult{Verdict: verdicts[found.Verdict], Newest: found.NewestFencingToken}, nil
}

// Close ends campaigns and observers, releases all leases and ends the connections. It takes about ReleaseTimeout at most.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	leases := make([]*Lease, 0, len(c.leases))
	for l := range c.leases {
		leases = append(leases, l)
	}
	leaderships := make([]*Leadership, 0, len(c.leaderships))
	for l := range c.leaderships {
		leaderships = append(leaderships, l)
	}
	observers := make([]*LeaderObserver, 0, len(c.observers))
	for o := range c.observers {
		observers = append(observers, o)
	}
	c.mu.Unlock()

	for _, o := range observers {
		_ = o.Close()
	}
	closeLeaderships(leaderships)
	given := make(chan error, len(leases))
	for _, l := range leases {
		go func(l *Lease) {
			_, err := l.Release(context.Background())
			given <- err
		}(l)
	}
	var first error
	for range leases {
		if err := <-given; err != nil && first == nil {
			first = err
		}
	}
	c.waitForReleases()
	c.stop()
	c.daemons.close()
	c.timers.close()
	return first
}

// waitForReleases waits for those in the background, but no longer than ReleaseTimeout.
func (c *Client) waitForReleases() {
	late := false
	timeout := time.AfterFunc(c.options.ReleaseTimeout, func() {
		c.mu.Lock()
		late = true
		c.mu.Unlock()
		c.idle.Broadcast()
	})
	defer timeout.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.releases > 0 && !late {
		c.idle.Wait()
	}
}

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

func (c *Client) forget(l *Lease) {
	c.mu.Lock()
	delete(c.leases, l)
	c.mu.Unlock()
}

// runOnce carries the operation out at this daemon, for at most the timeout.
func (c *Client) runOnce(ctx context.Context, d *daemon, o *operation, timeout time.Duration) answer {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return d.run(ctx, o)
}

// runUntilAnswered retries within CallTimeout. It returns when the answered request was sent, and its answer.
func (c *Client) runUntilAnswered(ctx context.Context, request func() *pb.SessionOperation) (instant, answer) {
	rule := retryRule{deadline: now().add(c.options.CallTimeout), addresses: len(c.daemons.all)}
	for {
		d, number := c.daemons.current()
		sent := now()
		said := c.runOnce(ctx, d, c.operationOf(ctx, request()), rule.timeout(sent))
		if said.err == nil {
			return sent, said
		}
		if ctx.Err() != nil {
			return sent, answer{err: contextError(ctx)}
		}
		delay, again := rule.delayAfter(said.err, sent, now())
		if !again || c.isClosed() {
			return sent, said
		}
		c.daemons.failed(number, said.err)
		if !pause(ctx, delay) {
			return sent, answer{err: contextError(ctx)}
		}
	}
}
