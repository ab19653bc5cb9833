// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// told is what a candidate was told.
type told struct {
	terms  chan *Lease
	losses chan *LostError
	errors chan error
}

func candidate(t *testing.T, client *Client, name string, ttl time.Duration, work func(context.Context) error) (*Leadership, told) {
	t.Helper()
	said := told{make(chan *Lease, 100), make(chan *LostError, 100), make(chan error, 100)}
	l, err := client.Lead(context.Background(), name, LeadOptions{
		Acquire: AcquireOptions{TTL: ttl},
		OnElected: func(ctx context.Context, lease *Lease) error {
			said.terms <- lease
			if work == nil {
				return nil
			}
			return work(ctx)
		},
		OnLost:  func(why *LostError) { said.losses <- why },
		OnError: func(err error) { said.errors <- err },
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, said
}

func next[T any](t *testing.T, from chan T, what string) T {
	t.Helper()
	select {
	case got := <-from:
		return got
	case <-time.After(20 * time.Second):
		t.Fatal("in vain waited for " + what)
		panic("not reached")
	}
}

func untilInLine(t *testing.T, client *Client, name string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		_, err := client.Acquire(context.Background(), name, AcquireOptions{})
		var not *NotAcquiredError
		if errors.As(err, &not) && not.Waiters > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("nobody stands in line: %v", err)
		}
	}
}

func expectQuiet(t *testing.T, all ...told) {
	t.Helper()
	for _, each := range all {
		if len(each.losses)+len(each.errors) > 0 {
			t.Errorf("%d losses and %d errors were told", len(each.losses), len(each.errors))
		}
	}
}

func TestTheNextInLineTakesOverWhenTheLeaderResigns(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	ended := make(chan error, 10)
	first, toldFirst := candidate(t, client, "service", 5*time.Second, func(ctx context.Context) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	lease := next(t, toldFirst.terms, "the first term")
	if !first.IsLeader() || first.Term() != lease.Token() {
		t.Errorf("term %d with token %d", first.Term(), lease.Token())
	}
	second, toldSecond := candidate(t, client, "service", 5*time.Second, nil)
	untilInLine(t, client, "service")
	if err := first.Resign(context.Background()); err != nil {
		t.Error(err)
	}
	next(t, ended, "the end of the work")
	later := next(t, toldSecond.terms, "the second term")
	if later.Token() <= lease.Token() || lease.Held() || second.Term() != later.Token() {
		t.Errorf("token %d after %d", later.Token(), lease.Token())
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	next(t, toldFirst.terms, "the third term") // the first has campaigned again
	_ = first.Close()
	expectQuiet(t, toldFirst, toldSecond)
}

func TestALostLeadershipIsToldAndTermsDoNotOverlap(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	endWork := make(chan struct{})
	l, said := candidate(t, client, "lost", time.Second, func(context.Context) error {
		<-endWork
		return nil
	})
	lease := next(t, said.terms, "the first term")
	if _, err := client.Release(context.Background(), "lost", lease.ID()); err != nil {
		t.Fatal(err)
	}
	if why := next(t, said.losses, "the loss"); why.Cause != LeaseLost || l.IsLeader() {
		t.Errorf("lost by %v, leads: %v", why.Cause, l.IsLeader())
	}
	other, err := client.Acquire(context.Background(), "lost", AcquireOptions{Wait: 10 * time.Second})
	if err != nil || len(said.terms) > 0 {
		t.Fatalf("%v, and %d more terms", err, len(said.terms))
	}
	_, _ = other.Release(context.Background())
	close(endWork)
	next(t, said.terms, "the second term")
	_ = l.Close()
	expectQuiet(t, said)
}

func TestWhoFailsAsLeaderResignsAndTriesAgainAfterOneTTL(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	ours := errors.New("ours")
	l, said := candidate(t, client, "failing", 3*time.Second, func(context.Context) error { return ours })
	if err := next(t, said.errors, "the error"); err != ours {
		t.Errorf("told of %v", err)
	}
	failed := time.Now()
	other, toldOther := candidate(t, client, "failing", 5*time.Second, nil)
	next(t, toldOther.terms, "the other's term")
	_ = other.Close()
	next(t, said.errors, "the second error")
	if again := time.Since(failed); again < 2500*time.Millisecond {
		t.Errorf("tried again after %v", again)
	}
	_ = l.Close()
	if len(said.losses) > 0 {
		t.Error("a resigned lease was told as lost")
	}
}

func TestErrorsOfTheCampaignAreToldAndItGoesOn(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	l, said := candidate(t, client, strings.Repeat("x", 513), time.Second, nil)
	for i := 0; i < 2; i++ {
		var err *Error
		if !errors.As(next(t, said.errors, "an error"), &err) || err.Field != "name" {
			t.Errorf("told of %v", err)
		}
	}
	_ = l.Close()
	if _, err := client.Lead(context.Background(), "x", LeadOptions{}); ReasonOf(err) != ReasonInvalidField {
		t.Errorf("no OnElected: %v", err)
	}
}

func TestTheContextOrClosingTheClientEndsALeadership(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	ctx, cancel := context.WithCancel(context.Background())
	elected := make(chan *Lease, 1)
	options := LeadOptions{OnElected: func(_ context.Context, lease *Lease) error { elected <- lease; return nil }}
	if _, err := client.Lead(ctx, "ctx", options); err != nil {
		t.Fatal(err)
	}
	next(t, elected, "the term")
	cancel()
	lease, err := client.Acquire(context.Background(), "ctx", AcquireOptions{Wait: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = lease.Release(context.Background())

	other := newClient(t, Options{Servers: []string{address}})
	_, leads := candidate(t, other, "closing", 30*time.Second, nil)
	next(t, leads.terms, "the term")
	_, waits := candidate(t, other, "closing", 30*time.Second, nil)
	untilInLine(t, client, "closing")
	_ = other.Close()
	if _, err := client.Acquire(context.Background(), "closing", AcquireOptions{Wait: 10 * time.Second}); err != nil {
		t.Fatal(err)
	}
	expectQuiet(t, leads, waits)
	if len(waits.terms) > 0 {
		t.Error("a closed campaign was won")
	}
	if _, err := other.Lead(context.Background(), "closing", options); !errors.Is(err, ErrClosed) {
		t.Errorf("Lead of a closed client: %v", err)
	}
}
