// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"lockkeeper/client/go/internal/pb"
)

const (
	parentA = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	parentB = "00-11111111111111111111111111111111-2222222222222222-00"
)

type trace struct{ parent, state string }

type traceKey struct{}

func tracedBy(t trace) context.Context { return context.WithValue(context.Background(), traceKey{}, t) }

// traceOf is an Options.TraceContext.
func traceOf(ctx context.Context) (traceparent, tracestate string) {
	t, _ := ctx.Value(traceKey{}).(trace)
	return t.parent, t.state
}

func tracedClient(t *testing.T, d *fakeDaemon, options Options) *Client {
	t.Helper()
	options.Servers, options.TraceContext, options.ReleaseTimeout = []string{d.address}, traceOf, time.Millisecond
	return newClient(t, options)
}

// nextTrace is that of the next operation, which it returns too.
func (d *fakeDaemon) nextTrace(t *testing.T) (trace, *pb.SessionOperation) {
	t.Helper()
	o := d.nextOperation(t)
	return trace{o.Traceparent, o.Tracestate}, o
}

func (d *fakeDaemon) admit(o *pb.SessionOperation) {
	d.answer(&pb.SessionResult{OperationId: o.Id, Result: &pb.SessionResult_Fence{Fence: &pb.FenceResponse{}}})
}

func TestOperationsOfASessionCarryTheTraceContextOfTheirCallers(t *testing.T) {
	d := startFakeDaemon(t)
	client := tracedClient(t, d, Options{})
	want := map[string]trace{"a": {parentA, "rojo=1"}, "b": {parentB, ""}, "none": {}}
	for name, of := range want {
		go func(ctx context.Context, name string) {
			_, _ = client.Fence(ctx, name, fakeToken, FenceOptions{}) // the test looks at what it sends
		}(tracedBy(of), name)
	}
	got := map[string]trace{}
	for len(got) < len(want) {
		for _, o := range d.next(t).GetBatch().GetOperations() {
			got[o.GetFence().GetName()] = trace{o.Traceparent, o.Tracestate}
			d.admit(o)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the operations carry %v, not %v", got, want)
	}
}

func TestEachCallOfALeaseCarriesTheTraceContextOfItsCallerAndARenewalNone(t *testing.T) {
	const ttl = 2 * time.Second
	d := startFakeDaemon(t)
	client := tracedClient(t, d, Options{})
	adopted := make(chan *Lease, 1)
	go func() {
		lease, err := client.Adopt(tracedBy(trace{parentA, ""}), "job", chosenID, AdoptOptions{Token: fakeToken, TTL: ttl})
		if err != nil {
			t.Error(err)
		}
		adopted <- lease
	}()
	got, o := d.nextTrace(t)
	if got.parent != parentA {
		t.Errorf("the adoption carries %v", got)
	}
	d.extend(o, ttl)
	lease := <-adopted
	if lease == nil {
		t.FailNow()
	}
	got, o = d.nextTrace(t)
	if o.GetExtend() == nil || got != (trace{}) {
		t.Errorf("the renewal is %v", o)
	}
	d.extend(o, time.Hour)

	go func() { _ = lease.Extend(tracedBy(trace{parentB, "x=1"}), time.Hour) }()
	for got, o = d.nextTrace(t); o.GetExtend().GetTtl().GetSeconds() < 3600; got, o = d.nextTrace(t) {
		d.extend(o, time.Hour) // another renewal
	}
	if got != (trace{parentB, "x=1"}) {
		t.Errorf("the extend carries %v", got)
	}
	d.extend(o, time.Hour)

	go func() { _, _ = lease.Release(tracedBy(trace{parentA, "y=1"})) }()
	for got, o = d.nextTrace(t); o.GetRelease() == nil; got, o = d.nextTrace(t) {
	}
	if got != (trace{parentA, "y=1"}) {
		t.Errorf("the release carries %v", got)
	}
}

func TestAnAcquireCarriesTheTraceContextOfItsCallerAndSoDoesItsClaim(t *testing.T) {
	d := startFakeDaemon(t)
	client := tracedClient(t, d, Options{})
	go func() {
		options := AcquireOptions{LeaseID: chosenID, Wait: time.Minute}
		_ = client.With(tracedBy(trace{parentA, ""}), "job", options, func(context.Context, *Lease) error { return nil })
	}()
	for _, kind := range []string{"acquire", "claim", "release"} {
		got, o := d.nextTrace(t)
		if got.parent != parentA {
			t.Errorf("the %s carries %v", kind, got)
		}
		switch kind {
		case "acquire":
			d.answers <- &pb.SessionResponse{Message: &pb.SessionResponse_Offer{Offer: &pb.SessionOffer{
				OperationId: o.Id, Lease: fakeLease(time.Minute),
			}}}
		case "claim":
			d.extend(o, time.Minute)
		}
	}
}

func TestAUnaryCallCarriesTheTraceContextOfItsCaller(t *testing.T) {
	d := startFakeDaemon(t)
	client := tracedClient(t, d, Options{NoSessions: true})
	for _, c := range []struct {
		of     trace
		before []string // what the caller's context has as metadata
	}{
		{of: trace{parentA, "rojo=1"}},
		{of: trace{parentB, ""}, before: []string{"traceparent", parentA, "tracestate", "x=1", "other", "kept"}},
		{of: trace{}},
	} {
		ctx := tracedBy(c.of)
		if c.before != nil {
			ctx = metadata.AppendToOutgoingContext(ctx, c.before...)
		}
		if _, err := client.Fence(ctx, "job", fakeToken, FenceOptions{}); err != nil {
			t.Fatal(err)
		}
		headers := <-d.fences
		got := trace{strings.Join(headers.Get("traceparent"), "|"), strings.Join(headers.Get("tracestate"), "|")}
		if got != c.of {
			t.Errorf("the metadata has %v, not %v", got, c.of)
		}
		if c.before != nil && len(headers.Get("other")) != 1 {
			t.Errorf("the caller's own metadata is gone: %v", headers)
		}
	}
}

func TestAnOperationThatASessionDoesNotSendKeepsItsTraceContext(t *testing.T) {
	d := startFakeDaemon(t)
	client := tracedClient(t, d, Options{})
	long := strings.Repeat("x", batchBytesMax/4) // too long for a session
	if _, err := client.Fence(tracedBy(trace{parentA, ""}), long, fakeToken, FenceOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := (<-d.fences).Get("traceparent"); !reflect.DeepEqual(got, []string{parentA}) {
		t.Errorf("the metadata has %v", got)
	}
}

func TestATraceContextThatMeansNothingIsLeftOut(t *testing.T) {
	client := newClient(t, Options{TraceContext: traceOf})
	longest := trace{strings.Repeat("p", traceparentMax), strings.Repeat("s", tracestateMax)}
	for given, want := range map[trace]trace{
		longest:                        longest,
		{longest.parent + "p", "x=1"}:  {},
		{parentA, longest.state + "s"}: {parentA, ""},
		{"", "x=1"}:                    {},
		{parentA, "x=\n"}:              {parentA, ""},
		{parentA, "x=é"}:               {parentA, ""},
		{parentA + "\x00", ""}:         {},
	} {
		o := client.operationOf(tracedBy(given), extendOperation("job", chosenID, 0, "", 0))
		if got := (trace{o.request.Traceparent, o.request.Tracestate}); got != want {
			t.Errorf("%v is sent as %v", given, got)
		}
	}
	if o := newClient(t, Options{}).operationOf(tracedBy(longest), extendOperation("job", chosenID, 0, "", 0)); o.request.Traceparent != "" {
		t.Error("a client without TraceContext sends one")
	}
}

func TestTraceContextsCountForTheSizeOfAMessage(t *testing.T) {
	client := newClient(t, Options{TraceContext: traceOf})
	traced := tracedBy(trace{parentA, strings.Repeat("s", tracestateMax)})
	s := offline()
	s.sentMax = batchMax
	for i := 0; i < batchMax; i++ {
		if !s.add(client.operationOf(traced, extendOperation(fmt.Sprint(i), chosenID, 0, "", 0))) {
			t.Fatal("the session does not take the operation")
		}
	}
	for sent := 0; sent < batchMax; {
		message := s.takeQueued()
		if size := proto.Size(message); size > 64<<10 {
			t.Fatalf("a message has %d bytes", size)
		}
		sent += len(message.GetBatch().GetOperations())
	}
}
