// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"lockkeeper/client/go/internal/pb"
)

// observed is what an observer has told. A change is the token of the leader, 0: nobody leads.
type observed struct {
	changes chan int64
	errors  chan error
}

func observe(t *testing.T, client *Client) (*LeaderObserver, observed) {
	t.Helper()
	said := observed{make(chan int64, 1000), make(chan error, 1000)}
	o, err := client.Observe(context.Background(), "job", ObserveOptions{
		OnChange: func(leader *Leader) { said.changes <- tokenOf(leader) },
		OnError:  func(err error) { said.errors <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return o, said
}

func tokenOf(leader *Leader) int64 {
	if leader == nil {
		return 0
	}
	return leader.Token
}

func (o observed) expect(t *testing.T, tokens ...int64) {
	t.Helper()
	for _, want := range tokens {
		if got := next(t, o.changes, "a change"); got != want {
			t.Fatalf("told of leader %d instead of %d", got, want)
		}
	}
}

func (o observed) nextError(t *testing.T) *Error {
	t.Helper()
	err := next(t, o.errors, "an error")
	var known *Error
	if !errors.As(err, &known) {
		t.Fatalf("told of %v", err)
	}
	return known
}

func (o observed) expectNoErrors(t *testing.T) {
	t.Helper()
	if len(o.errors) > 0 {
		t.Errorf("told of %v", <-o.errors)
	}
}

// started is the next watch of the daemon, which has told that it has started, and whose look was answered.
func (d *fakeDaemon) started(t *testing.T, look *pb.GetLockResponse) *fakeWatch {
	t.Helper()
	w := next(t, d.watches, "a watch")
	w.tell(eventOf("STARTED", 0))
	next(t, d.looks, "a look").says <- look
	return w
}

func expectGone(t *testing.T, gone <-chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(20 * time.Second):
		t.Fatal("the call is not cancelled")
	}
}

// untilForgotten waits for the goroutines of all observers of the client.
func untilForgotten(t *testing.T, client *Client) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		client.mu.Lock()
		left := len(client.observers)
		client.mu.Unlock()
		if left == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d observers have not ended", left)
		}
	}
}

func TestAnObserverLooksAndThenHearsOfChanges(t *testing.T) {
	daemon := startFakeDaemon(t)
	o, said := observe(t, newClient(t, Options{Servers: []string{daemon.address}}))
	watch := next(t, daemon.watches, "the watch")
	if watch.name != "job" || len(daemon.looks) > 0 || o.Leader() != nil {
		t.Errorf("watches %q, with %d looks", watch.name, len(daemon.looks))
	}
	watch.tell(eventOf("STARTED", 0))
	look := next(t, daemon.looks, "the look")
	if look.name != "job" {
		t.Errorf("looks at %q", look.name)
	}
	look.says <- lookOf("HELD", 7)
	said.expect(t, 7)
	if leader := o.Leader(); *leader != (Leader{Token: 7, Owner: "owner 7"}) {
		t.Errorf("%+v", leader)
	}
	watch.tell(eventOf("WAITING", 0), eventOf("RELEASED", 7), eventOf("OFFERED", 8), eventOf("GRANTED", 8))
	said.expect(t, 0, 8)
	watch.tell(eventOf("GAP", 0))
	next(t, daemon.looks, "a look after the gap").says <- lookOf("", 0)
	said.expect(t, 0)
	if leader := o.Leader(); leader != nil {
		t.Errorf("%+v leads a lock without a record", leader)
	}
	said.expectNoErrors(t)
}

func TestALookThatIsOvertakenIsRepeated(t *testing.T) {
	daemon := startFakeDaemon(t)
	_, said := observe(t, newClient(t, Options{Servers: []string{daemon.address}}))
	watch := next(t, daemon.watches, "the watch")
	watch.tell(eventOf("STARTED", 0))
	look := next(t, daemon.looks, "the look")
	watch.tell(eventOf("GRANTED", 8))
	said.expect(t, 8)
	look.says <- lookOf("HELD", 7)
	next(t, daemon.looks, "another look").says <- lookOf("HELD", 9)
	said.expect(t, 9)
	said.expectNoErrors(t)
}

func TestAStreamThatEndsGoesOnAtTheNextAddress(t *testing.T) {
	first, second := startFakeDaemon(t), startFakeDaemon(t)
	unserved := make(chan error, 100)
	client := newClient(t, Options{
		Servers: []string{first.address, second.address}, OnUnserved: func(err error) { unserved <- err },
	})
	o, said := observe(t, client)
	watch := first.started(t, lookOf("HELD", 7))
	said.expect(t, 7)
	watch.end <- nil // without an error
	if err := said.nextError(t); err.Code != codes.Unavailable || next(t, unserved, "the same") != error(err) {
		t.Errorf("told of %v", err)
	}
	watch = next(t, second.watches, "the watch at the next address")
	if tokenOf(o.Leader()) != 7 {
		t.Error("the leader has not stayed")
	}
	watch.tell(eventOf("STARTED", 0))
	next(t, second.looks, "the look").says <- lookOf("HELD", 7)
	watch.tell(eventOf("GRANTED", 8))
	said.expect(t, 8)
	watch.end <- status.Error(codes.Canceled, "as a server that ends says it")
	if err := said.nextError(t); err.Code != codes.Unavailable {
		t.Errorf("told of %v", err)
	}
	first.started(t, lookOf("ENDED", 8)) // after the last address comes the first
	said.expect(t, 0)
	said.expectNoErrors(t)
}

func TestAnErrorThatIsOnlyAboutWatchingMovesNothingElse(t *testing.T) {
	first, second := startFakeDaemon(t), startFakeDaemon(t)
	client := newClient(t, Options{Servers: []string{first.address, second.address}})
	_, said := observe(t, client)
	next(t, first.watches, "the watch").end <- refusal(t, codes.ResourceExhausted, "RATE_LIMIT", 0)
	if err := said.nextError(t); err.Reason != ReasonRateLimit {
		t.Errorf("told of %v", err)
	}
	second.started(t, lookOf("HELD", 7))
	said.expect(t, 7)
	if _, number := client.daemons.current(); number != 0 {
		t.Error("the client has moved on")
	}
}

func refusal(t *testing.T, code codes.Code, reason string, retryAfter time.Duration) error {
	t.Helper()
	s, err := status.New(code, "because").WithDetails(
		&errdetails.ErrorInfo{Domain: "lockkeeper", Reason: reason}, &errdetails.RetryInfo{RetryDelay: toProto(retryAfter)})
	if err != nil {
		t.Fatal(err)
	}
	return s.Err()
}

func TestARefusalIsToldAndRetriedAfterItsDelay(t *testing.T) {
	daemon := startFakeDaemon(t)
	_, said := observe(t, newClient(t, Options{Servers: []string{daemon.address}}))
	next(t, daemon.watches, "the watch").end <- refusal(t, codes.PermissionDenied, "PERMISSION_DENIED", 300*time.Millisecond)
	if err := said.nextError(t); err.Reason != ReasonPermissionDenied {
		t.Errorf("told of %v", err)
	}
	refused := time.Now()
	watch := next(t, daemon.watches, "another watch")
	if after := time.Since(refused); after < 290*time.Millisecond {
		t.Errorf("came again after %v", after)
	}
	watch.tell(eventOf("STARTED", 0))
	next(t, daemon.looks, "a look").end <- refusal(t, codes.Unavailable, "STORE_UNAVAILABLE", 0)
	if err := said.nextError(t); err.Reason != ReasonStoreUnavailable {
		t.Errorf("told of %v", err)
	}
	expectGone(t, watch.gone)
	daemon.started(t, lookOf("HELD", 7))
	said.expect(t, 7)
	said.expectNoErrors(t)
}

func TestDelaysGrowUntilALookIsAnswered(t *testing.T) {
	daemon := startFakeDaemon(t)
	_, said := observe(t, newClient(t, Options{Servers: []string{daemon.address}}))
	next(t, daemon.watches, "the watch").end <- nil
	var told time.Time
	for failure := 2; failure <= 4; failure++ {
		said.nextError(t)
		watch := next(t, daemon.watches, "another watch")
		told = time.Now()
		watch.end <- nil
	}
	said.nextError(t)
	watch := next(t, daemon.watches, "another watch")
	if after := time.Since(told); after < 200*time.Millisecond { // half of 400 ms
		t.Errorf("came again %v after the fourth failure", after)
	}
	watch.end <- nil
	said.nextError(t)
	watch = daemon.started(t, lookOf("HELD", 7))
	said.expect(t, 7)
	watch.end <- nil
	said.nextError(t)
	begun := time.Now()
	for failure := 2; failure <= 4; failure++ {
		next(t, daemon.watches, "another watch").end <- nil
		said.nextError(t)
	}
	if took := time.Since(begun); took >= 1500*time.Millisecond { // three times half of 1 s
		t.Errorf("the delays have not begun anew: %v", took)
	}
}

func TestASilentDaemonIsLeft(t *testing.T) {
	silent, later, good := startFakeDaemon(t), startFakeDaemon(t), startFakeDaemon(t)
	_, said := observe(t, newClient(t, Options{Servers: []string{silent.address, later.address, good.address}}))
	begun := time.Now()
	watch := next(t, silent.watches, "the watch") // which never starts
	look := next(t, silent.looks, "the look behind it, which has no answer")
	if err := said.nextError(t); err.Code != codes.DeadlineExceeded || time.Since(begun) < startTimeout {
		t.Errorf("told of %v after %v", err, time.Since(begun))
	}
	expectGone(t, look.gone)
	expectGone(t, watch.gone)

	watch = next(t, later.watches, "the second watch")
	watch.tell(eventOf("STARTED", 0))
	look = next(t, later.looks, "the look, which has no answer")
	asked := time.Now()
	watch.tell(eventOf("GRANTED", 7)) // that the stream is well changes nothing
	said.expect(t, 7)
	if err := said.nextError(t); err.Code != codes.DeadlineExceeded || time.Since(asked) < 2900*time.Millisecond {
		t.Errorf("told of %v after %v", err, time.Since(asked))
	}
	expectGone(t, look.gone)
	expectGone(t, watch.gone)
	good.started(t, lookOf("HELD", 8))
	said.expect(t, 8)
}

func TestCallsComeOneAfterTheOtherAndInOrder(t *testing.T) {
	daemon := startFakeDaemon(t)
	client := newClient(t, Options{Servers: []string{daemon.address}})
	said := observed{changes: make(chan int64, 1000)}
	entered, leave := make(chan struct{}), make(chan struct{})
	var running int32
	o, err := client.Observe(context.Background(), "job", ObserveOptions{OnChange: func(leader *Leader) {
		if atomic.AddInt32(&running, 1) != 1 {
			t.Error("two calls at a time")
		}
		if tokenOf(leader) == 1 {
			close(entered)
			<-leave
		}
		said.changes <- tokenOf(leader)
		atomic.AddInt32(&running, -1)
	}})
	if err != nil {
		t.Fatal(err)
	}
	watch := daemon.started(t, lookOf("HELD", 1))
	next(t, entered, "the first call")
	if tokenOf(o.Leader()) != 1 {
		t.Errorf("%+v leads", o.Leader())
	}
	var want []int64
	for token := int64(2); token <= 100; token++ {
		watch.tell(eventOf("RELEASED", token-1), eventOf("GRANTED", token))
		want = append(want, 0, token)
	}
	if len(said.changes) > 0 {
		t.Error("told while the first call was running")
	}
	close(leave)
	said.expect(t, append([]int64{1}, want...)...)
}

// TestAClosedObserverLeavesNothingBehind closes it in each of its phases.
func TestAClosedObserverLeavesNothingBehind(t *testing.T) {
	for name, reach := range map[string]func(t *testing.T, daemon *fakeDaemon, said observed) (gone []<-chan struct{}){
		"opening": func(t *testing.T, daemon *fakeDaemon, _ observed) []<-chan struct{} {
			return []<-chan struct{}{next(t, daemon.watches, "the watch").gone}
		},
		"looking": func(t *testing.T, daemon *fakeDaemon, _ observed) []<-chan struct{} {
			watch := next(t, daemon.watches, "the watch")
			watch.tell(eventOf("STARTED", 0))
			return []<-chan struct{}{watch.gone, next(t, daemon.looks, "the look").gone}
		},
		"listening": func(t *testing.T, daemon *fakeDaemon, said observed) []<-chan struct{} {
			watch := daemon.started(t, lookOf("HELD", 7))
			said.expect(t, 7)
			return []<-chan struct{}{watch.gone}
		},
		"pausing": func(t *testing.T, daemon *fakeDaemon, said observed) []<-chan struct{} {
			next(t, daemon.watches, "the watch").end <- refusal(t, codes.PermissionDenied, "PERMISSION_DENIED", time.Hour)
			said.nextError(t)
			return nil
		},
	} {
		for how, end := range map[string]func(*Client, *LeaderObserver) error{
			"itself":    func(_ *Client, o *LeaderObserver) error { return o.Close() },
			"by client": func(c *Client, _ *LeaderObserver) error { return c.Close() },
		} {
			t.Run(name+"/"+how, func(t *testing.T) {
				daemon := startFakeDaemon(t)
				client := newClient(t, Options{Servers: []string{daemon.address}})
				o, said := observe(t, client)
				calls := reach(t, daemon, said)
				if err := end(client, o); err != nil {
					t.Error(err)
				}
				for _, gone := range calls {
					expectGone(t, gone)
				}
				untilForgotten(t, client)
				said.expectNoErrors(t)
				if len(said.changes)+len(daemon.watches)+len(daemon.looks) > 0 {
					t.Error("it went on")
				}
			})
		}
	}
}

func TestAnObserverMayBeClosedWhileItTells(t *testing.T) {
	daemon := startFakeDaemon(t)
	client := newClient(t, Options{Servers: []string{daemon.address}})
	observers, told := make(chan *LeaderObserver, 1), make(chan *Leader, 10)
	entered, leave := make(chan struct{}), make(chan struct{})
	o, err := client.Observe(context.Background(), "job", ObserveOptions{OnChange: func(leader *Leader) {
		told <- leader
		_ = (<-observers).Close() // by what it tells
		close(entered)
		<-leave
	}})
	if err != nil {
		t.Fatal(err)
	}
	observers <- o
	watch := next(t, daemon.watches, "the watch")
	watch.tell(eventOf("GRANTED", 7), eventOf("GRANTED", 8))
	next(t, entered, "the call")
	_ = o.Close() // does not wait for it
	expectGone(t, watch.gone)
	close(leave)
	untilForgotten(t, client)
	if len(told) != 1 || tokenOf(o.Leader()) != 7 {
		t.Errorf("told %d times, the last leader is %d", len(told), tokenOf(o.Leader()))
	}
}

func TestTheContextEndsAnObserver(t *testing.T) {
	daemon := startFakeDaemon(t)
	client := newClient(t, Options{Servers: []string{daemon.address}})
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := client.Observe(ctx, "job", ObserveOptions{}); err != nil {
		t.Fatal(err)
	}
	watch := daemon.started(t, lookOf("HELD", 7))
	cancel()
	expectGone(t, watch.gone)
	untilForgotten(t, client)
}

func TestWhatCannotBeObserved(t *testing.T) {
	client := newClient(t, Options{})
	for _, name := range []string{"", "\xff"} {
		if _, err := client.Observe(context.Background(), name, ObserveOptions{}); ReasonOf(err) != ReasonInvalidField {
			t.Errorf("%q: %v", name, err)
		}
	}
	_ = client.Close()
	if _, err := client.Observe(context.Background(), "job", ObserveOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("of a closed client: %v", err)
	}
}

func TestAnObserverFollowsTheLeadersOfARealDaemon(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}, Owner: "10.0.0.7:8080"})
	o, said := observe(t, newClient(t, Options{Servers: []string{address}}))
	said.expect(t, 0)
	first, toldFirst := candidate(t, client, "job", 5*time.Second, nil)
	said.expect(t, next(t, toldFirst.terms, "the first term").Token())
	if leader := o.Leader(); leader.Owner != "10.0.0.7:8080" {
		t.Errorf("%+v", leader)
	}
	_, toldSecond := candidate(t, client, "job", 5*time.Second, nil)
	untilInLine(t, client, "job")
	_ = first.Close()
	second := next(t, toldSecond.terms, "the second term").Token()
	for last := int64(0); last != second; { // between them nobody may lead
		if last = next(t, said.changes, "a change"); last != 0 && last != second {
			t.Fatalf("%d leads", last)
		}
	}
	lockkeeper(t, address, "force-release", "job", "--reason", "test", "--now")
	said.expect(t, 0)
	said.expect(t, next(t, toldSecond.terms, "the third term").Token())
	said.expectNoErrors(t)
}
