// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"runtime"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"lockkeeper/client/go/internal/pb"
)

const (
	// The server accepts 1,024 operations and 64 KiB in a message, which is a few bytes longer than its operations.
	batchMax       = 1024
	batchBytesMax  = 60 << 10
	operationHead  = 20 // bytes of tag, length and number in the batch, at most
	outstandingMax = 1024
	closingTimeout = 200 * time.Millisecond // of a session: only the daemon's log depends on it
)

// operation is one operation in flight to a daemon, in a session or as a unary call.
type operation struct {
	request *pb.SessionOperation // its own: it may be written while another attempt is being made
	bytes   int                  // of the request, without its number
	adopts  bool                 // the extend is said as `adopt` in a session, so that the session keeps the lease
	done    chan answer

	// Of the session that carries it.
	id        uint64
	waits     bool // an acquire that may stand in line
	sent      bool
	sentAt    instant
	abandoned bool // nobody waits for the answer any more
}

func newOperation(request *pb.SessionOperation) *operation {
	return &operation{
		request: request, bytes: proto.Size(request), waits: request.GetAcquire().GetWaitTimeout() != nil, done: make(chan answer, 1),
	}
}

// asksFor tells whether somebody waits for this operation to have the session keep the lease: for an acquire, a claim or an adoption.
func (o *operation) asksFor(id string) bool {
	asked := o.request.GetAcquire().GetLeaseId()
	if extend := o.request.GetExtend(); extend != nil && (o.adopts || extend.FencingToken == 0) {
		asked = extend.LeaseId
	}
	return !o.abandoned && asked != "" && plainID(asked) == plainID(id)
}

type answer struct {
	result  *pb.SessionResult
	err     *Error
	session *session // that carried the operation; nil: a unary call did
}

// session is one stream to a daemon. Operations that come while a message is being written go together in the next one.
type session struct {
	daemon *daemon
	ctx    context.Context
	stop   context.CancelFunc
	ended  chan struct{}
	timer  timer // the opening, then the heartbeats

	mu        sync.Mutex
	changed   sync.Cond // for the writer
	opened    bool
	retiring  bool // takes no new operations, and is closed once all are answered
	broken    bool // by us, or over
	suspect   bool // an answer is late, and nothing was received since its operation was sent
	heardAt   instant
	lastID    uint64
	entries   map[uint64]*operation
	adopting  map[string]*operation // by lease id
	queue     []*operation
	controls  []*pb.SessionRequest // to be sent before the queue
	sentMax   int
	sent      int
	waiting   int
	held      map[string]*Lease // that it keeps, by lease id
	lostEarly map[string]bool   // lease ids that a heartbeat named before their grant was known; the newest
	beats     beats
}

func newSession(d *daemon) *session {
	s := &session{
		daemon: d, ended: make(chan struct{}), entries: map[uint64]*operation{}, adopting: map[string]*operation{},
		held: map[string]*Lease{}, lostEarly: map[string]bool{},
	}
	s.changed.L = &s.mu
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.timer.run = s.onTimer
	d.timers.set(&s.timer, now().add(sessionOpenTimeout))
	go s.live()
	return s
}

// canCarry tells whether a session can carry the operation: one that is too long would end the stream for all others.
func canCarry(o *operation) bool { return o.bytes <= batchBytesMax/4 }

// run sends the operation and waits for its answer, until ctx ends. False: it was not sent, and can be sent elsewhere.
func (s *session) run(ctx context.Context, o *operation) (answer, bool) {
	if !s.add(o) {
		return answer{}, false
	}
	select {
	case a := <-o.done:
		return a, a.err != errNotSent
	case <-ctx.Done():
	}
	s.giveUp(o)
	select {
	case a := <-o.done: // it came in this moment
		return a, a.err != errNotSent
	default:
		return answer{err: contextError(ctx), session: s}, true
	}
}

// errNotSent answers an operation whose session ended before it was sent.
var errNotSent = unavailable("", "the session ended before the operation was sent")

func (s *session) usable() bool { return !s.retiring && !s.broken && !s.suspect }

func (s *session) add(o *operation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.usable() {
		return false
	}
	// Waiting acquires must not take all the places, because renewals need some.
	if o.waits && s.sentMax > 0 && s.waiting >= s.sentMax/2 {
		return false
	}
	if o.waits {
		s.waiting++
	}
	s.lastID++
	o.id, o.sent, o.abandoned = s.lastID, false, false
	s.entries[o.id] = o
	s.queue = append(s.queue, o)
	s.changed.Signal()
	return true
}

// giveUp stops waiting for the answer. If the operation was sent, its place stays taken until the daemon has answered.
func (s *session) giveUp(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.entries[o.id] != o {
		return
	}
	o.abandoned = true
	switch {
	case !o.sent:
		s.erase(o)
	case o.waits:
		s.say(&pb.SessionRequest{Message: &pb.SessionRequest_Cancel{Cancel: &pb.SessionCancel{OperationId: o.id}}})
	case s.heardAt < o.sentAt:
		s.suspect = true
	}
}

func (s *session) erase(o *operation) {
	delete(s.entries, o.id)
	if o.adopts && o.sent {
		delete(s.adopting, o.request.GetExtend().LeaseId)
	}
	if o.waits {
		s.waiting--
	}
	if o.sent {
		s.sent--
	}
	s.changed.Signal() // there is a place now, or a session that retires is done
}

func (s *session) say(message *pb.SessionRequest) {
	s.controls = append(s.controls, message)
	s.changed.Signal()
}

// live is the life of the stream.
func (s *session) live() {
	stream, err := s.daemon.sessions.Session(s.ctx)
	if err == nil {
		err = stream.Send(&pb.SessionRequest{
			Message: &pb.SessionRequest_Open{Open: &pb.SessionOpen{Owner: shortOwner(s.daemon.owner)}},
		})
	}
	if err == nil || status.Code(err) == codes.Unknown { // io.EOF of Send: Recv tells why
		go s.write(stream)
		err = s.read(stream)
	}
	s.end(err)
}

// shortOwner leaves out what the server would refuse the session for: the owner is only for its logs.
func shortOwner(owner string) string {
	if len(owner) > 256 {
		return ""
	}
	return owner
}

func (s *session) write(stream pb.LockService_SessionClient) {
	for {
		message, last := s.nextMessage()
		switch {
		case message != nil:
			if stream.Send(message) != nil {
				return // read is told why
			}
		case last:
			_ = stream.CloseSend() // read is told if it fails
			return
		}
	}
}

// nextMessage waits until there is something to say. True: there will be nothing more.
func (s *session) nextMessage() (*pb.SessionRequest, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if s.broken {
			return nil, true
		}
		if s.opened {
			if len(s.controls) > 0 {
				message := s.controls[0]
				s.controls = s.controls[1:]
				return message, false
			}
			if message := s.takeQueued(); message != nil {
				return message, false
			}
			if s.retiring && len(s.entries) == 0 {
				return nil, true
			}
		}
		s.changed.Wait()
		// Others that can run may have operations for the same message. One for many costs less than many.
		s.mu.Unlock()
		runtime.Gosched()
		s.mu.Lock()
	}
}

// takeQueued makes a message of what stands in the queue; nil if there is nothing that may be sent.
func (s *session) takeQueued() *pb.SessionRequest {
	batch := &pb.SessionBatch{}
	bytes, at := 0, now()
	for len(s.queue) > 0 && s.sent < s.sentMax && len(batch.Operations) < batchMax {
		o := s.queue[0]
		if s.entries[o.id] != o { // it was given up
			s.queue = s.queue[1:]
			continue
		}
		if o.adopts && s.adopting[o.request.GetExtend().LeaseId] != nil {
			o.adopts = false // its answer could not be told from that of the adoption before
		}
		if o.adopts && len(batch.Operations) > 0 {
			break
		}
		o.request.Id = o.id
		bytes += o.bytes + operationHead
		if bytes > batchBytesMax {
			break
		}
		s.queue = s.queue[1:]
		s.sent++
		o.sent, o.sentAt = true, at
		if o.adopts {
			extend := o.request.GetExtend()
			s.adopting[extend.LeaseId] = o
			return &pb.SessionRequest{Message: &pb.SessionRequest_Adopt{Adopt: &pb.SessionAdopt{
				Name: extend.Name, LeaseId: extend.LeaseId, FencingToken: extend.FencingToken, Reassertion: extend.Reassertion,
			}}}
		}
		batch.Operations = append(batch.Operations, o.request)
	}
	if len(batch.Operations) == 0 {
		return nil
	}
	return &pb.SessionRequest{Message: &pb.SessionRequest_Batch{Batch: batch}}
}

func (s *session) read(stream pb.LockService_SessionClient) error {
	for {
		message, err := stream.Recv()
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.heardAt = now()
		s.suspect = false
		s.mu.Unlock()
		switch m := message.Message.(type) {
		case *pb.SessionResponse_Opened:
			s.onOpened(int(m.Opened.MaxOutstandingOperations))
		case *pb.SessionResponse_Results:
			for _, result := range m.Results.Results {
				s.onResult(result)
			}
		case *pb.SessionResponse_Offer:
			lease := m.Offer.Lease
			if lease == nil {
				lease = &pb.Lease{}
			}
			lease.Offered = true
			s.onResult(&pb.SessionResult{OperationId: m.Offer.OperationId, Result: &pb.SessionResult_Acquire{
				Acquire: &pb.AcquireResponse{Outcome: &pb.AcquireResponse_Lease{Lease: lease}},
			}})
		case *pb.SessionResponse_AdoptResult:
			s.onAdopted(m.AdoptResult)
		case *pb.SessionResponse_HeartbeatResult:
			s.onBeaten(m.HeartbeatResult)
		case *pb.SessionResponse_LeaseLost:
			s.onLost(m.LeaseLost)
		case *pb.SessionResponse_Draining:
			s.daemon.sessionDrains(s)
		}
	}
}

func (s *session) onOpened(allowed int) {
	if allowed <= 0 {
		allowed = outstandingMax
	}
	s.mu.Lock()
	// Not all of them: the server frees a place only after its answer has been written.
	s.sentMax = atLeastInt(1, allowed-allowed/4)
	s.opened = true
	s.daemon.timers.cancel(&s.timer)
	s.changed.Signal()
	s.mu.Unlock()
	s.daemon.sessionOpened(s)
}

func atLeastInt(least, n int) int {
	if n < least {
		return least
	}
	return n
}

func (s *session) onResult(result *pb.SessionResult) {
	s.mu.Lock()
	o := s.entries[result.OperationId]
	if o != nil {
		s.erase(o)
		if o.abandoned {
			s.forgetUnclaimed(result)
		}
	}
	s.mu.Unlock()
	if o == nil || o.abandoned {
		return
	}
	a := answer{result: result, session: s}
	if failed := result.GetError(); failed != nil {
		a = answer{err: errorOfOperation(failed), session: s}
	}
	o.done <- a
}

// forgetUnclaimed leaves the lease that came too late for those who asked for it. Not if it is kept here, or another operation asks for it:
// who chose the lease id may acquire again with it. With the mutex held.
func (s *session) forgetUnclaimed(result *pb.SessionResult) {
	lease := result.GetAcquire().GetLease()
	if lease == nil {
		lease = result.GetExtend().GetLease()
	}
	if lease == nil || lease.Offered || s.held[lease.LeaseId] != nil {
		return
	}
	for _, other := range s.entries {
		if other.asksFor(lease.LeaseId) {
			return
		}
	}
	s.sayForget(lease.Name, lease.LeaseId)
}

func (s *session) onAdopted(result *pb.SessionAdoptResult) {
	s.mu.Lock()
	o := s.adopting[result.LeaseId]
	s.mu.Unlock()
	if o == nil {
		return
	}
	if failed := result.GetError(); failed != nil {
		s.onResult(&pb.SessionResult{OperationId: o.id, Result: &pb.SessionResult_Error{Error: failed}})
		return
	}
	s.onResult(&pb.SessionResult{OperationId: o.id, Result: &pb.SessionResult_Extend{
		Extend: &pb.ExtendResponse{Lease: result.GetLease()},
	}})
}

// retire takes no new operations, and closes the stream when all are answered. Its leases go to another session.
func (s *session) retire() {
	s.mu.Lock()
	s.retiring = true
	s.changed.Signal()
	s.mu.Unlock()
	s.orphan()
}

// breakOff ends the stream at once.
func (s *session) breakOff() {
	s.mu.Lock()
	s.broken = true
	s.changed.Signal()
	s.mu.Unlock()
	s.stop()
}

// close ends the session cleanly if the daemon answers soon.
func (s *session) close() {
	s.mu.Lock()
	s.retiring = true
	hopeless := !s.opened || len(s.entries) > 0
	s.changed.Signal()
	s.mu.Unlock()
	if !hopeless {
		select {
		case <-s.ended:
		case <-time.After(closingTimeout):
		}
	}
	s.breakOff()
	<-s.ended
}

func (s *session) end(err error) {
	s.mu.Lock()
	how := endCut
	switch {
	case status.Code(err) == codes.Unimplemented:
		how = endUnsupported
	case !s.opened:
		how = endNotOpened
	case s.retiring || s.broken:
		how = endRetired
	}
	s.broken = true
	s.daemon.timers.cancel(&s.timer)
	entries := s.entries
	s.entries = map[uint64]*operation{}
	s.changed.Signal()
	s.mu.Unlock()

	s.stop()
	s.daemon.sessionEnded(s, how)
	for _, o := range entries {
		switch {
		case o.abandoned:
		case o.sent:
			o.done <- answer{err: unavailable(ReasonOutcomeUnknown, "the session broke before the answer came"), session: s}
		default:
			o.done <- answer{err: errNotSent}
		}
	}
	s.beatsFailed(s.takeBeats(), unavailable(ReasonOutcomeUnknown, "the session broke before the heartbeat was answered"))
	s.orphan()
	close(s.ended)
}

func (s *session) onTimer() {
	s.mu.Lock()
	opened := s.opened
	s.mu.Unlock()
	if !opened {
		s.breakOff()
		return
	}
	s.onBeatTimer()
}
