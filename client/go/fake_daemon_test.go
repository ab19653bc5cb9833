// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"lockkeeper/client/go/internal/pb"
)

const fakeToken = 7

// fakeDaemon opens sessions, watches and looks, and leaves to the test what it answers there. It answers a unary Fence, and knows no other
// calls.
type fakeDaemon struct {
	pb.UnimplementedLockServiceServer
	pb.UnimplementedAdminServiceServer
	address string
	said    chan *pb.SessionRequest
	answers chan *pb.SessionResponse
	watches chan *fakeWatch
	looks   chan *fakeLook
	fences  chan metadata.MD
}

// fakeWatch is a call of WatchLocks.
type fakeWatch struct {
	name string
	says chan *pb.WatchLocksResponse
	end  chan error
	gone <-chan struct{} // closed when the client has left
}

// fakeLook is a call of GetLock.
type fakeLook struct {
	name string
	says chan *pb.GetLockResponse
	end  chan error
	gone <-chan struct{}
}

func startFakeDaemon(t *testing.T) *fakeDaemon {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &fakeDaemon{
		address: listener.Addr().String(),
		said:    make(chan *pb.SessionRequest, 100),
		answers: make(chan *pb.SessionResponse, 100),
		watches: make(chan *fakeWatch, 100),
		looks:   make(chan *fakeLook, 100),
		fences:  make(chan metadata.MD, 100),
	}
	server := grpc.NewServer()
	pb.RegisterLockServiceServer(server, d)
	pb.RegisterAdminServiceServer(server, d)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return d
}

func (d *fakeDaemon) Session(stream pb.LockService_SessionServer) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	opened := &pb.SessionResponse{Message: &pb.SessionResponse_Opened{Opened: &pb.SessionOpened{}}}
	if err := stream.Send(opened); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case answer := <-d.answers:
				_ = stream.Send(answer) // the test misses it
			case <-stream.Context().Done():
				return
			}
		}
	}()
	for {
		message, err := stream.Recv()
		if err != nil {
			return nil // the client has closed it
		}
		d.said <- message
	}
}

func (d *fakeDaemon) WatchLocks(request *pb.WatchLocksRequest, stream pb.AdminService_WatchLocksServer) error {
	w := &fakeWatch{request.Name, make(chan *pb.WatchLocksResponse, 100), make(chan error, 1), stream.Context().Done()}
	d.watches <- w
	for {
		select {
		case message := <-w.says:
			if err := stream.Send(message); err != nil {
				return err
			}
		case err := <-w.end:
			return err
		case <-w.gone:
			return nil
		}
	}
}

func (d *fakeDaemon) GetLock(ctx context.Context, request *pb.GetLockRequest) (*pb.GetLockResponse, error) {
	l := &fakeLook{request.Name, make(chan *pb.GetLockResponse, 1), make(chan error, 1), ctx.Done()}
	d.looks <- l
	select {
	case answer := <-l.says:
		return answer, nil
	case err := <-l.end:
		return nil, err
	case <-l.gone:
		return nil, ctx.Err()
	}
}

func (d *fakeDaemon) Fence(ctx context.Context, _ *pb.FenceRequest) (*pb.FenceResponse, error) {
	headers, _ := metadata.FromIncomingContext(ctx)
	d.fences <- headers
	return &pb.FenceResponse{}, nil
}

// tell sends events in one message.
func (w *fakeWatch) tell(events ...*pb.LockEvent) { w.says <- &pb.WatchLocksResponse{Events: events} }

func (d *fakeDaemon) next(t *testing.T) *pb.SessionRequest {
	t.Helper()
	select {
	case message := <-d.said:
		return message
	case <-time.After(10 * time.Second):
		t.Fatal("the client says nothing")
		return nil
	}
}

// nextOperation is the next message, which has to be one operation.
func (d *fakeDaemon) nextOperation(t *testing.T) *pb.SessionOperation {
	t.Helper()
	message := d.next(t)
	if operations := message.GetBatch().GetOperations(); len(operations) == 1 {
		return operations[0]
	}
	t.Fatalf("the client says %v", message)
	return nil
}

func (d *fakeDaemon) answer(result *pb.SessionResult) {
	d.answers <- &pb.SessionResponse{Message: &pb.SessionResponse_Results{
		Results: &pb.SessionResults{Results: []*pb.SessionResult{result}},
	}}
}

func (d *fakeDaemon) extend(o *pb.SessionOperation, ttl time.Duration) {
	d.answer(&pb.SessionResult{OperationId: o.Id, Result: &pb.SessionResult_Extend{
		Extend: &pb.ExtendResponse{Lease: fakeLease(ttl)},
	}})
}

func fakeLease(ttl time.Duration) *pb.Lease {
	return &pb.Lease{
		Name: "job", LeaseId: plainID(chosenID), FencingToken: fakeToken, Ttl: toProto(ttl), RemainingTtl: toProto(ttl),
	}
}
