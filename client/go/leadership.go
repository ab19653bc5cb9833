// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"errors"
	"log"
	"sync"
	"time"
)

// campaignWait is how long one acquire of a campaign stands in line. Its errors are told when it ends, so it must end.
const campaignWait = 30 * time.Second

// LeadOptions say how to campaign, and who is told. Only OnElected is needed.
type LeadOptions struct {
	Acquire AcquireOptions // without Wait and LeaseID
	// OnElected is called at the beginning of each term; lease.Token() is the number of the term. The context ends when the term does: the
	// lease is lost, or you resign. When OnElected returns nil, the term goes on. If it returns an error, that is told to OnError, and this
	// candidate resigns and campaigns again after one ttl.
	OnElected func(ctx context.Context, lease *Lease) error
	// OnLost is called when the lease is lost, before it ends. Not after Resign or Close.
	OnLost func(*LostError)
	// OnError is called with each error of the campaign, which then goes on, and with those of OnElected. Default: the standard logger.
	OnError func(error)
}

// Leadership is a candidate: it stands in line for the lock, leads while it holds the lease, and campaigns again when the term is over and
// OnElected has returned, until it is closed.
type Leadership struct {
	client  *Client
	name    string
	options LeadOptions
	ctx     context.Context // ends when the leadership is closed
	stop    context.CancelFunc

	acquiring sync.Mutex // held by the campaign
	mu        sync.Mutex
	term      *term
}

type term struct {
	lease *Lease
	ctx   leaseContext
}

// Lead campaigns for the lock, and returns at once. The campaign, and a term, ends with ctx, with Leadership.Close or with the client. An
// error names the option that it cannot use.
func (c *Client) Lead(ctx context.Context, name string, options LeadOptions) (*Leadership, error) {
	switch {
	case options.OnElected == nil:
		return nil, invalid("on_elected", "must not be nil")
	case options.Acquire.Wait != 0:
		return nil, invalid("wait", "is no option of Lead")
	case options.Acquire.LeaseID != "":
		return nil, invalid("lease_id", "is no option of Lead")
	}
	if _, problem := options.Acquire.request(name, c.options.Owner); problem != nil {
		return nil, problem
	}
	options.Acquire.Wait = campaignWait
	l := &Leadership{client: c, name: name, options: options}
	l.ctx, l.stop = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		l.stop()
		return nil, ErrClosed
	}
	c.leaderships[l] = true
	go l.run()
	return l, nil
}

// IsLeader tells whether this candidate leads now. It looks at the clock.
func (l *Leadership) IsLeader() bool { return l.Term() != 0 }

// Term is the fencing token of this candidate's term; 0 while it does not lead.
func (l *Leadership) Term() int64 {
	l.mu.Lock()
	now := l.term
	l.mu.Unlock()
	if now == nil || !now.lease.Held() {
		return 0
	}
	return now.lease.Token()
}

// Resign ends the term: it ends its context and releases the lock, so that the next candidate in line takes over. This one campaigns again,
// behind those who wait. Stop the work first: the next leader begins at once. The error is that of Lease.Release.
func (l *Leadership) Resign(ctx context.Context) error {
	l.mu.Lock()
	now := l.term
	l.term = nil
	l.mu.Unlock()
	if now == nil {
		return nil
	}
	now.ctx.end(ErrReleased) // not after the release, which may take its time
	_, err := now.lease.Release(ctx)
	return err
}

// Close resigns, or ends the campaign. It does not wait for OnElected.
func (l *Leadership) Close() error {
	l.stop()
	l.acquiring.Lock() // what the campaign has won is released here
	l.acquiring.Unlock()
	return l.Resign(context.Background())
}

func (l *Leadership) run() {
	defer l.client.forgetLeadership(l)
	defer l.stop()
	for failures := 0; l.ctx.Err() == nil; {
		now, err := l.campaign()
		switch {
		case err == nil:
			failures = 0
			if l.lead(now) {
				pause(l.ctx, now.lease.life.ttl)
			}
		case errors.Is(err, ErrNotAcquired):
			failures = 0
		case l.ctx.Err() != nil || errors.Is(err, ErrClosed):
			return
		default:
			l.report(err)
			failures++
			delay := backoff(failures, backoffMax, jitter())
			var said *Error
			if errors.As(err, &said) {
				delay = atLeast(said.RetryDelay, delay)
			}
			pause(l.ctx, delay)
		}
	}
}

func (l *Leadership) campaign() (*term, error) {
	l.acquiring.Lock()
	defer l.acquiring.Unlock()
	lease, err := l.client.Acquire(l.ctx, l.name, l.options.Acquire)
	if err != nil {
		return nil, err
	}
	ctx, end := withCause(lease.Context())
	won := &term{lease, leaseContext{ctx, lease, end}}
	l.mu.Lock()
	l.term = won
	l.mu.Unlock()
	return won, nil
}

// lead returns when the term is over and OnElected has returned: whether that failed.
func (l *Leadership) lead(now *term) bool {
	lease, ctx := now.lease, now.ctx
	defer ctx.end(ErrReleased)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-ctx.Done():
		case <-l.ctx.Done():
			l.resign()
		}
		var lost *LostError
		if errors.As(lease.Err(), &lost) && l.options.OnLost != nil {
			l.options.OnLost(lost)
		}
	}()
	failed := false
	if err := l.options.OnElected(ctx, lease); err != nil {
		failed = ctx.Err() == nil
		if failed || !wasStopped(err) {
			l.report(err)
		}
		if failed {
			l.resign()
		}
	}
	<-over
	l.mu.Lock()
	l.term = nil
	l.mu.Unlock()
	return failed
}

// wasStopped: the error says that the end of a term has stopped the work.
func wasStopped(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, ErrReleased) || errors.As(err, new(*LostError))
}

func (l *Leadership) resign() {
	if err := l.Resign(context.Background()); err != nil {
		l.report(err)
	}
}

func (l *Leadership) report(err error) {
	if l.options.OnError != nil {
		l.options.OnError(err)
		return
	}
	log.Printf("lockkeeper: leadership of %q: %v", l.name, err)
}

func (c *Client) forgetLeadership(l *Leadership) {
	c.mu.Lock()
	delete(c.leaderships, l)
	c.mu.Unlock()
}

// closeLeaderships ends campaigns first: none of them is to win what another one gives up.
func closeLeaderships(all []*Leadership) {
	for _, l := range all {
		l.stop()
	}
	for _, l := range all {
		_ = l.Close() // its release goes on in the background
	}
}
