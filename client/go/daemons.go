// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"

	"lockkeeper/client/go/internal/pb"
)

// daemons are those of one service, and which of them is in use.
type daemons struct {
	all        []*daemon
	inUse      int32
	onUnserved func(error)
}

func newDaemons(options *Options, timers *timers) (*daemons, *Error) {
	secure, err := newReloadingTLS(options.TLS)
	if err != nil {
		return nil, err
	}
	token, err := openTokenFile(options.TokenFile)
	if err != nil {
		return nil, err
	}
	ds := &daemons{onUnserved: options.OnUnserved}
	for number, address := range options.Servers {
		d := &daemon{
			address: address, owner: options.Owner, timers: timers, token: token, noSessions: options.NoSessions,
			links: map[*session]bool{}, draining: ds.failer(number),
		}
		settings := settingsFor(address, options.TLS, secure, token)
		if err := d.connect(settings); err != nil {
			ds.close()
			return nil, err
		}
		ds.all = append(ds.all, d)
	}
	return ds, nil
}

func (ds *daemons) current() (*daemon, int) {
	number := int(atomic.LoadInt32(&ds.inUse))
	return ds.all[number], number
}

// failed moves on to the next daemon, unless that was already done.
func (ds *daemons) failed(number int, why *Error) {
	ds.failer(number)()
	if ds.onUnserved != nil {
		ds.onUnserved(why)
	}
}

func (ds *daemons) failer(number int) func() {
	return func() { atomic.CompareAndSwapInt32(&ds.inUse, int32(number), int32((number+1)%len(ds.all))) }
}

func (ds *daemons) close() {
	var closing sync.WaitGroup
	for _, d := range ds.all {
		closing.Add(1)
		go func(d *daemon) {
			defer closing.Done()
			d.close()
		}(d)
	}
	closing.Wait()
}

// settingsFor are those of "Connections" in client/README.md.
func settingsFor(address string, tls TLS, secure credentials.TransportCredentials, token *tokenFile) []grpc.DialOption {
	settings := []grpc.DialOption{
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 10 * time.Second, Timeout: 5 * time.Second}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: grpcbackoff.Config{
				BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second,
			},
			MinConnectTimeout: 2 * time.Second,
		}),
		grpc.WithDisableRetry(), // each of our attempts has a number; a call that no server has seen is still sent again, as the same one
		grpc.WithDisableServiceConfig(),
		grpc.WithNoProxy(), // a lock daemon is never behind the proxy for the web
	}
	if usesTLS(address, tls) {
		settings = append(settings, grpc.WithTransportCredentials(secure))
	} else {
		settings = append(settings, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if token != nil {
		settings = append(settings, grpc.WithPerRPCCredentials(token))
	}
	return settings
}

// daemon has four connections to one daemon: acquires may stand in line for minutes, and extends and releases must not queue behind them.
// They are opened when they are first used.
type daemon struct {
	address    string
	owner      string
	timers     *timers
	token      *tokenFile
	noSessions bool
	draining   func()

	connections []*grpc.ClientConn
	sessions    pb.LockServiceClient
	acquires    pb.LockServiceClient
	others      pb.LockServiceClient // Extend, Release, Fence
	watches     pb.AdminServiceClient

	mu           sync.Mutex
	policy       sessionPolicy
	link         *session // in use; nil if there is none
	tokenVersion int      // that link was opened with
	links        map[*session]bool
	closed       bool
}

func (d *daemon) connect(settings []grpc.DialOption) *Error {
	target := strings.TrimPrefix(d.address, tlsScheme)
	if !strings.HasPrefix(target, "unix:") {
		target = "passthrough:///" + target // the dialer looks the name up at each connect
	}
	for _, use := range []func(*grpc.ClientConn){
		func(c *grpc.ClientConn) { d.sessions = pb.NewLockServiceClient(c) },
		func(c *grpc.ClientConn) { d.acquires = pb.NewLockServiceClient(c) },
		func(c *grpc.ClientConn) { d.others = pb.NewLockServiceClient(c) },
		func(c *grpc.ClientConn) { d.watches = pb.NewAdminServiceClient(c) },
	} {
		connection, err := grpc.NewClient(target, settings...)
		if err != nil {
			return invalid("servers", "`"+d.address+"`: "+err.Error())
		}
		d.connections = append(d.connections, connection)
		use(connection)
	}
	return nil
}

// run carries the operation out once, in a session or by a unary call, until ctx ends.
func (d *daemon) run(ctx context.Context, o *operation) answer {
	if canCarry(o) {
		if s := d.session(); s != nil {
			if a, sent := s.run(ctx, o); sent {
				return a
			}
		}
	}
	return d.unary(ctx, o)
}

func (d *daemon) unary(ctx context.Context, o *operation) answer {
	ctx = withTrace(ctx, o.request)
	result := &pb.SessionResult{}
	var err error
	switch request := o.request.Operation.(type) {
	case *pb.SessionOperation_Acquire:
		if request.Acquire.Confirm {
			d.connections[2].Connect() // an offer has to be claimed soon
		}
		var r *pb.AcquireResponse
		r, err = d.acquires.Acquire(ctx, request.Acquire)
		result.Result = &pb.SessionResult_Acquire{Acquire: r}
	case *pb.SessionOperation_Extend:
		var r *pb.ExtendResponse
		r, err = d.others.Extend(ctx, request.Extend)
		result.Result = &pb.SessionResult_Extend{Extend: r}
	case *pb.SessionOperation_Release:
		var r *pb.ReleaseResponse
		r, err = d.others.Release(ctx, request.Release)
		result.Result = &pb.SessionResult_Release{Release: r}
	case *pb.SessionOperation_Fence:
		var r *pb.FenceResponse
		r, err = d.others.Fence(ctx, request.Fence)
		result.Result = &pb.SessionResult_Fence{Fence: r}
	}
	switch {
	case err == nil:
		return answer{result: result}
	case ctx.Err() != nil:
		return answer{err: contextError(ctx)}
	}
	return answer{err: errorOfCall(err, d.address)}
}

// session returns the session to use, and opens one if the policy allows it. Nil if there is none at the moment.
func (d *daemon) session() *session {
	if d.noSessions {
		return nil
	}
	version := d.token.versionNow()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link != nil && d.tokenVersion != version { // a session keeps the token that it was opened with
		go d.link.retire()
		d.link = nil
	}
	d.tokenVersion = version
	if d.link == nil {
		if d.closed || !d.policy.mayOpen(now()) {
			return nil
		}
		d.link = newSession(d)
		d.links[d.link] = true
	}
	if d.policy.mayWait() || d.link.isOpen() {
		return d.link
	}
	return nil
}

func (s *session) isOpen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

func (d *daemon) sessionOpened(s *session) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.link == s {
		d.policy.opened(now())
	}
}

// sessionDrains has the next operation open a new session, here if there is no other daemon.
func (d *daemon) sessionDrains(s *session) {
	d.draining()
	d.mu.Lock()
	if d.link == s {
		d.link = nil
	}
	d.mu.Unlock()
	s.retire()
}

func (d *daemon) sessionEnded(s *session, how sessionEnd) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.policy.ended(how, now(), jitter())
	delete(d.links, s)
	if d.link == s {
		d.link = nil
	}
}

func (d *daemon) close() {
	d.mu.Lock()
	d.closed = true
	links := make([]*session, 0, len(d.links))
	for s := range d.links {
		links = append(links, s)
	}
	d.mu.Unlock()
	for _, s := range links {
		s.close()
	}
	for _, connection := range d.connections {
		_ = connection.Close() // it can only have been closed before
	}
}
