// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"lockkeeper/client/go/internal/pb"
)

const fakeToken = 7

// fakeDaemon opens sessions, and leaves to the test what it answers there. It knows no unary calls.
type fakeDaemon struct {
	pb.UnimplementedLockServiceServer
	address string
	said    chan *pb.SessionRequest
	answers chan *pb.SessionResponse
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
	}
	server := grpc.NewServer()
	pb.RegisterLockServiceServer(server, d)
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
