// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/durationpb"

	"lockkeeper/client/go/internal/pb"
)

const (
	serversMax     = 16
	defaultServer  = "127.0.0.1:7600"
	callTimeout    = 10 * time.Second
	releaseTimeout = 2 * time.Second
)

// TLS says how to reach daemons over TLS: whom to trust, and who this program is. The files are PEM, and are read again for each new
// connection.
type TLS struct {
	CAFile          string // CAs that may sign the certificate of a daemon; "": those of the system
	CertificateFile string // of this program, for daemons that ask for one, with its chain; only with its key
	KeyFile         string // without a passphrase
	ServerName      string // that the certificate of a daemon must be for; "": the host of its address
}

// Options say how to reach the service. The zero value reaches the daemon of this machine.
type Options struct {
	// Servers are the daemons of one service: host:port, [v6]:port, unix:/path or tls://host:port, at most 16. The first that answers is
	// used, the next one when it is unavailable or stopping. Default: 127.0.0.1:7600.
	Servers []string
	// TLS: if any of it is given, all hosts are reached over TLS, whether tls:// is written or not.
	TLS TLS
	// TokenFile holds a bearer token or a JWT, which proves who this program is. It is read again when it changes, and shown only on
	// encrypted connections and within this machine.
	TokenFile string
	// Owner names this program for people; at most 256 bytes. Default: host/pid.
	Owner string
	// CallTimeout is the longest time of one call, retries included; the wait in line comes on top. Default: 10 s.
	CallTimeout time.Duration
	// ReleaseTimeout is the longest time for which Release and Close block. Default: 2 s.
	ReleaseTimeout time.Duration
	// NoSessions uses unary calls only.
	NoSessions bool
	// TraceContext gives the W3C trace context of a call: the values of the headers traceparent and tracestate, "" for none. With it the
	// daemon's spans are part of the caller's trace. It is called with the context of the call, or one that has its values, on any
	// goroutine. Default: no trace context is sent. With OpenTelemetry:
	//
	//	func(ctx context.Context) (traceparent, tracestate string) {
	//		carrier := propagation.MapCarrier{}
	//		otel.GetTextMapPropagator().Inject(ctx, carrier)
	//		return carrier["traceparent"], carrier["tracestate"]
	//	}
	TraceContext func(ctx context.Context) (traceparent, tracestate string)
	// OnUnserved is called with each error of a daemon that the client retries. It runs on any goroutine, and must return soon.
	OnUnserved func(error)
}

// AcquireOptions say how to acquire a lock. The zero value tries once, for a lease of the service's default length.
type AcquireOptions struct {
	TTL        time.Duration     // length of the lease, and how far each renewal moves its end; 0: the service's default, 30 s
	Wait       time.Duration     // time to stand in line, at most 24 h; 0: try once
	Owner      string            // names the holder for people; default: Options.Owner
	Labels     map[string]string // for people, at most 8
	LockDelay  time.Duration     // for so long the lock stays closed if the lease ends without a release; at most 1 min
	MaxHold    time.Duration     // longest time for which the lease is renewed, at most 24 h; 0: no bound
	StopMargin time.Duration     // how long before its end the lease counts as lost, so that the work can stop; at most about ttl/2
	// HoldAtLeast is the time after the grant for which the lock stays closed to others, even if it is released earlier; at most 24 h.
	HoldAtLeast time.Duration
	// LeaseID to use: 32 hex digits or a UUID. Default: a new random one. Whoever gives an id can repeat the acquire later, and must
	// release the id if the outcome stays unknown.
	LeaseID string
}

// AdoptOptions say what is known of a lease that another client detached.
type AdoptOptions struct {
	Token       int64 // with Reassertion: lets the lease survive a store that has lost its state
	Reassertion string
	TTL         time.Duration // as in AcquireOptions; 0: as granted
	StopMargin  time.Duration
}

func (o *Options) complete() *Error {
	if len(o.Servers) == 0 {
		o.Servers = []string{defaultServer}
	}
	if len(o.Servers) > serversMax {
		return invalid("servers", fmt.Sprintf("give 1 to %d", serversMax))
	}
	for _, address := range o.Servers {
		if err := checkAddress(address); err != nil {
			return err
		}
		if o.TokenFile != "" && !isOnThisMachine(address) && !usesTLS(address, o.TLS) {
			return invalid("token_file", "the connection to `"+address+"` is not encrypted, so that anybody on the way could read the "+
				"token; use TLS, or an address of this machine")
		}
	}
	if o.Owner == "" {
		host, _ := os.Hostname() // for people: without it the pid is left
		o.Owner = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if !utf8.ValidString(o.Owner) {
		return invalid("owner", "must be UTF-8")
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = callTimeout
	}
	if o.ReleaseTimeout == 0 {
		o.ReleaseTimeout = releaseTimeout
	}
	if o.CallTimeout < 0 {
		return invalid("call_timeout", "must be positive")
	}
	if o.ReleaseTimeout < 0 {
		return invalid("release_timeout", "must be positive")
	}
	return nil
}

// request makes the acquire's request. What it leaves to the service to check, the service checks.
func (o *AcquireOptions) request(name, owner string) (*pb.AcquireRequest, *Error) {
	if o.Owner != "" {
		owner = o.Owner
	}
	texts := map[string]string{"name": name, "owner": owner, "lease_id": o.LeaseID}
	for key, value := range o.Labels {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, invalid("labels", "must be UTF-8")
		}
	}
	for field, text := range texts {
		if !utf8.ValidString(text) {
			return nil, invalid(field, "must be UTF-8")
		}
	}
	if o.Wait < 0 {
		return nil, invalid("wait_timeout", "must not be negative")
	}
	if o.StopMargin < 0 {
		return nil, invalid("stop_margin", "must not be negative")
	}
	if o.TTL > 0 && o.StopMargin > stopMarginMax(o.TTL) {
		return nil, invalid("stop_margin", fmt.Sprintf("leaves no time to renew a lease of this ttl: at most %v", stopMarginMax(o.TTL)))
	}
	return &pb.AcquireRequest{
		Name: name, LeaseId: o.LeaseID, Owner: owner, Labels: o.Labels, Confirm: o.Wait > 0,
		Ttl: toProto(o.TTL), LockDelay: toProto(o.LockDelay), MaxHold: toProto(o.MaxHold), HoldAtLeast: toProto(o.HoldAtLeast),
	}, nil
}

// toProto leaves zero out: it means the service's default.
func toProto(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}

// durationOf reads a duration of the service, none of which is longer than a day.
func durationOf(d *durationpb.Duration) time.Duration {
	const max = 24 * time.Hour
	switch {
	case d == nil || d.Seconds < 0 || d.Nanos < 0 || d.Nanos > 999_999_999:
		return 0
	case d.Seconds >= int64(max/time.Second):
		return max
	}
	return time.Duration(d.Seconds)*time.Second + time.Duration(d.Nanos)
}

const tlsScheme = "tls://"

func usesTLS(address string, tls TLS) bool {
	return strings.HasPrefix(address, tlsScheme) || !strings.HasPrefix(address, "unix:") && tls != TLS{}
}

func checkAddress(address string) *Error {
	wrong := invalid("servers", "`"+address+"` is not an address: give `host:port`, `[v6]:port`, `unix:/path` or `tls://host:port`")
	if path := strings.TrimPrefix(address, "unix:"); path != address {
		if path == "" {
			return wrong
		}
		return nil
	}
	host, port, err := net.SplitHostPort(strings.TrimPrefix(address, tlsScheme))
	if err != nil || host == "" || strings.ContainsAny(host, "/ []") {
		return wrong
	}
	if number, err := strconv.Atoi(port); err != nil || number < 1 || number > 65535 {
		return wrong
	}
	return nil
}

func isOnThisMachine(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, _ := net.SplitHostPort(strings.TrimPrefix(address, tlsScheme)) // checkAddress has accepted it
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
