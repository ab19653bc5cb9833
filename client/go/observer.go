// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"errors"
	"io"
	"log"
	"sync"
	"unicode/utf8"

	"lockkeeper/client/go/internal/pb"
)

// ObserveOptions say who is told. OnChange and OnError are called one after the other, on a goroutine of the observer.
type ObserveOptions struct {
	// OnChange is called once it is known who leads, and then at each change. nil: nobody leads. While it runs, the observer hears nothing.
	OnChange func(leader *Leader)
	// OnError is called with each error; the observer goes on. Default: the standard logger.
	OnError func(error)
}

// LeaderObserver knows who holds a lock, a little late, until it is closed.
type LeaderObserver struct {
	client  *Client
	name    string
	options ObserveOptions
	ctx     context.Context // ends when the observer is closed
	stop    context.CancelFunc
	rules   leaderRules // for run
	due     chan struct{}
	timer   timer // fills due

	mu     sync.Mutex // held by Close, and by what begins a call of the options
	leader *Leader
}

// Observe tells who holds the lock, to a program that does not campaign for it, and returns at once. It needs the right inspect on the
// name. It ends with ctx, with LeaderObserver.Close or with the client.
func (c *Client) Observe(ctx context.Context, name string, options ObserveOptions) (*LeaderObserver, error) {
	switch {
	case name == "": // a watch would hear of all locks
		return nil, invalid("name", "must not be empty")
	case !utf8.ValidString(name):
		return nil, invalid("name", "must be UTF-8")
	}
	o := &LeaderObserver{client: c, name: name, options: options, due: make(chan struct{}, 1)}
	o.timer.run = func() {
		select {
		case o.due <- struct{}{}:
		default:
		}
	}
	o.ctx, o.stop = context.WithCancel(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		o.stop()
		return nil, ErrClosed
	}
	c.observers[o] = true
	go o.run()
	return o, nil
}

// Leader is the last one known; nil: nobody leads, or it is not known yet.
func (o *LeaderObserver) Leader() *Leader {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.leader == nil {
		return nil
	}
	leader := *o.leader
	return &leader
}

// Close ends the observer. It does not wait for OnChange, but none begins any more.
func (o *LeaderObserver) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stop()
	return nil
}

func (o *LeaderObserver) run() {
	defer o.client.forgetObserver(o)
	defer o.Close()
	daemons := o.client.daemons
	_, number := daemons.current()
	for failures := 0; ; {
		looked, err := o.watch(daemons.all[number])
		if err == nil || o.ctx.Err() != nil {
			return
		}
		if looked {
			failures = 0
		}
		failures++
		if err.noAnswer() {
			daemons.failed(number, err)
		}
		o.report(err)
		// A number of its own: an error that is only about watching is no reason for everything else to move on.
		number = (number + 1) % len(daemons.all)
		if !pause(o.ctx, atLeast(err.RetryDelay, backoff(failures, backoffMax, jitter()))) {
			return
		}
	}
}

// received is what a stream or a look has brought.
type received[T any] struct {
	message T
	err     error
}

// watch follows the stream of one daemon until it fails, or the observer is closed. looked: a look was answered.
func (o *LeaderObserver) watch(d *daemon) (looked bool, failed *Error) {
	ctx, stop := context.WithCancel(o.ctx)
	defer stop() // the stream, and the look in flight
	defer o.client.timers.cancel(&o.timer)
	stream, err := d.watches.WatchLocks(ctx, &pb.WatchLocksRequest{Name: o.name})
	if err != nil {
		return false, errorOfCall(err, d.address)
	}
	events := make(chan received[*pb.WatchLocksResponse])
	go read(ctx, stream, events)
	looks := make(chan received[*pb.GetLockResponse], 1) // only one is in flight
	o.rules.begin(now())
	for {
		if o.rules.mustLook(now()) {
			o.rules.look(now())
			go o.look(ctx, d, looks)
		}
		o.client.timers.set(&o.timer, o.rules.nextLook())
		select {
		case got := <-events:
			if got.err != nil {
				return looked, errorOfWatch(got.err, d.address)
			}
			for _, event := range got.message.Events {
				if o.rules.event(now(), event) {
					o.tell()
				}
			}
		case got := <-looks:
			if got.err != nil {
				return looked, errorOfCall(got.err, d.address)
			}
			looked = true
			if o.rules.looked(now(), got.message) {
				o.tell()
			}
		case <-o.due: // a look may be
		case <-ctx.Done():
			return looked, nil
		}
	}
}

// read does not read ahead of who takes it, so that nothing piles up here: the daemon drops what is too much, and says so.
func read(ctx context.Context, stream pb.AdminService_WatchLocksClient, to chan<- received[*pb.WatchLocksResponse]) {
	for {
		message, err := stream.Recv()
		select {
		case to <- received[*pb.WatchLocksResponse]{message, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

func (o *LeaderObserver) look(ctx context.Context, d *daemon, to chan<- received[*pb.GetLockResponse]) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	said, err := d.watches.GetLock(ctx, &pb.GetLockRequest{Name: o.name})
	to <- received[*pb.GetLockResponse]{said, err}
}

// errorOfWatch reads the end of a stream. No daemon ends one well.
func errorOfWatch(err error, address string) *Error {
	if errors.Is(err, io.EOF) {
		return unavailable("", address+" ended the watch")
	}
	return errorOfCall(err, address)
}

// tell tells who leads now.
func (o *LeaderObserver) tell() {
	if o.mayTell(o.rules.leader) && o.options.OnChange != nil {
		o.options.OnChange(o.Leader())
	}
}

func (o *LeaderObserver) mayTell(leader *Leader) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ctx.Err() != nil {
		return false
	}
	o.leader = leader
	return true
}

func (o *LeaderObserver) report(err error) {
	switch {
	case !o.mayTell(o.rules.leader):
	case o.options.OnError != nil:
		o.options.OnError(err)
	default:
		log.Printf("lockkeeper: observer of %q: %v", o.name, err)
	}
}

func (c *Client) forgetObserver(o *LeaderObserver) {
	c.mu.Lock()
	delete(c.observers, o)
	c.mu.Unlock()
}
