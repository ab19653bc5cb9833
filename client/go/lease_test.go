// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"testing"
	"time"

	"lockkeeper/client/go/internal/pb"
)

// adoptedFrom is a lease that was adopted from the daemon, with this regular ttl.
func adoptedFrom(t *testing.T, d *fakeDaemon, ttl time.Duration) *Lease {
	t.Helper()
	client := newClient(t, Options{Servers: []string{d.address}, ReleaseTimeout: time.Millisecond})
	adopted := make(chan *Lease, 1)
	go func() {
		lease, err := client.Adopt(context.Background(), "job", chosenID, AdoptOptions{Token: fakeToken})
		if err != nil {
			t.Error(err)
		}
		adopted <- lease
	}()
	d.extend(d.nextOperation(t), ttl)
	lease := <-adopted
	if lease == nil {
		t.FailNow()
	}
	return lease
}

func TestAnOwnExtendAsksForNoLessThanTheRegularTTL(t *testing.T) {
	d := startFakeDaemon(t)
	lease := adoptedFrom(t, d, time.Minute)
	for asked, sent := range map[time.Duration]time.Duration{
		time.Second: time.Minute, time.Minute: time.Minute, time.Hour: time.Hour, 0: 0,
	} {
		done := make(chan error, 1)
		go func(asked time.Duration) { done <- lease.Extend(context.Background(), asked) }(asked)
		o := d.nextOperation(t)
		if got := durationOf(o.GetExtend().GetTtl()); got != sent {
			t.Errorf("an extend with %v sends %v", asked, got)
		}
		d.extend(o, time.Hour)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestALateAnswerOfAnAdoptionGivesNoMoreThanItsOwnTTL(t *testing.T) {
	const ttl = 2 * time.Second
	d := startFakeDaemon(t)
	lease := adoptedFrom(t, d, ttl)
	if message := d.next(t); message.GetAdopt() == nil {
		t.Fatalf("the first renewal is %v", message)
	}
	end := now().add(ttl)

	// Something is heard, so that the next renewal goes by the session, too.
	fenced := make(chan error, 1)
	go func() {
		_, err := lease.client.Fence(context.Background(), "job", fakeToken, FenceOptions{})
		fenced <- err
	}()
	d.answer(&pb.SessionResult{OperationId: d.nextOperation(t).Id, Result: &pb.SessionResult_Fence{Fence: &pb.FenceResponse{}}})
	if err := <-fenced; err != nil {
		t.Fatal(err)
	}

	d.next(t) // the second renewal, which is never answered
	d.answers <- &pb.SessionResponse{Message: &pb.SessionResponse_AdoptResult{AdoptResult: &pb.SessionAdoptResult{
		Name: lease.Name(), LeaseId: lease.ID(), Result: &pb.SessionAdoptResult_Lease{Lease: fakeLease(ttl)},
	}}}
	<-lease.Lost()
	if late := now().since(end); late > 0 {
		t.Errorf("lost %v after the end that the first renewal gave", late)
	}
}
