// SPDX-License-Identifier: Apache-2.0

// Command conformance lets tests/conformance drive the Go client: JSON lines on stdin and stdout, as tests/conformance/README.md says.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	lockkeeper "lockkeeper/client/go"
)

type request struct {
	ID int64  `json:"id"`
	Do string `json:"do"`

	// create
	Servers        []string `json:"servers"`
	CallTimeout    int64    `json:"callTimeout"`
	ReleaseTimeout int64    `json:"releaseTimeout"`
	CAFile         string   `json:"caFile"`
	Certificate    string   `json:"certificateFile"`
	Key            string   `json:"keyFile"`
	ServerName     string   `json:"serverName"`
	TokenFile      string   `json:"tokenFile"`

	// acquire, adopt, fence, extend ...
	As          string            `json:"as"`
	Client      string            `json:"client"`
	Name        string            `json:"name"`
	Owner       string            `json:"owner"`
	TTL         int64             `json:"ttl"`
	Wait        int64             `json:"wait"`
	LockDelay   int64             `json:"lockDelay"`
	MaxHold     int64             `json:"maxHold"`
	HoldAtLeast int64             `json:"holdAtLeast"`
	StopMargin  int64             `json:"stopMargin"`
	Labels      map[string]string `json:"labels"`
	LeaseID     string            `json:"leaseId"`
	Lease       string            `json:"lease"`
	Token       int64             `json:"token"`
	Reassertion string            `json:"reassertion"`
	RequireLive bool              `json:"requireLive"`
	Request     int64             `json:"request"`
}

type object map[string]any

// driver has what requests name.
type driver struct {
	mu      sync.Mutex
	out     *json.Encoder
	clients map[string]*lockkeeper.Client
	leases  map[string]*lockkeeper.Lease
	cancels map[int64]context.CancelFunc
}

func main() {
	d := &driver{
		out: json.NewEncoder(os.Stdout), clients: map[string]*lockkeeper.Client{}, leases: map[string]*lockkeeper.Lease{},
		cancels: map[int64]context.CancelFunc{},
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			fmt.Fprintln(os.Stderr, "malformed request:", err)
			os.Exit(1)
		}
		ctx, cancel := context.WithCancel(context.Background())
		d.mu.Lock()
		d.cancels[r.ID] = cancel
		d.mu.Unlock()
		if r.Do == "create" { // what follows needs it
			d.handle(ctx, r)
			continue
		}
		go d.handle(ctx, r)
	}
}

func (d *driver) say(what object) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.out.Encode(what); err != nil {
		fmt.Fprintln(os.Stderr, "cannot answer:", err)
	}
}

func (d *driver) handle(ctx context.Context, r request) {
	ok, err := d.do(ctx, r)
	if err == nil {
		d.say(object{"id": r.ID, "ok": ok})
		return
	}
	told := object{"code": "", "reason": "", "message": err.Error()}
	var e *lockkeeper.Error
	var lost *lockkeeper.LostError
	switch {
	case errors.As(err, &lost):
		told["code"], told["reason"] = "FAILED_PRECONDITION", "LEASE_LOST"
	case errors.As(err, &e):
		told["code"], told["reason"] = nameOf(e.Code), e.Reason
	}
	d.say(object{"id": r.ID, "error": told})
}

// nameOf is the name of the code as gRPC's specification writes it.
func nameOf(code codes.Code) string {
	names := []string{
		"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
		"RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
		"UNAUTHENTICATED",
	}
	if int(code) < len(names) {
		return names[code]
	}
	return code.String()
}

func (d *driver) client(name string) *lockkeeper.Client {
	if name == "" {
		name = "client"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.clients[name]
}

func (d *driver) lease(name string) *lockkeeper.Lease {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.leases[name]
}

func millis(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (d *driver) do(ctx context.Context, r request) (object, error) {
	switch r.Do {
	case "features":
		return object{"features": []string{
			"renewal", "details", "extend", "sessions", "unary", "adopt", "detach", "cancel", "events", "stop_margin",
			"hold_at_least", "tls", "observe",
		}}, nil
	case "create":
		return d.create(r)
	case "cancel":
		d.mu.Lock()
		d.cancels[r.Request]()
		d.mu.Unlock()
		return object{}, nil
	}
	if client := d.client(r.Client); client != nil {
		switch r.Do {
		case "acquire":
			return d.acquire(ctx, client, r)
		case "adopt":
			lease, err := client.Adopt(ctx, r.Name, r.LeaseID, lockkeeper.AdoptOptions{Token: r.Token, Reassertion: r.Reassertion})
			return d.granted(r, lease, err)
		case "releaseById":
			return told(client.Release(ctx, r.Name, r.LeaseID))
		case "fence":
			found, err := client.Fence(ctx, r.Name, r.Token, lockkeeper.FenceOptions{RequireLive: r.RequireLive})
			return object{"verdict": found.Verdict, "newest": found.Newest}, err
		case "observe":
			_, err := client.Observe(context.Background(), r.Name, lockkeeper.ObserveOptions{
				OnChange: func(leader *lockkeeper.Leader) { d.leads(r.As, leader) },
			})
			return object{}, err
		case "close":
			return object{}, client.Close()
		}
	}
	lease := d.lease(r.Lease)
	if lease == nil {
		return nil, fmt.Errorf("there is no lease or client for %q, or it cannot do that", r.Do)
	}
	switch r.Do {
	case "state":
		state := object{"held": lease.Held(), "remaining": lease.Remaining().Milliseconds(), "lost": false, "cause": ""}
		var lost *lockkeeper.LostError
		if errors.As(lease.Err(), &lost) {
			state["lost"], state["cause"] = true, lost.Cause
		}
		return state, nil
	case "check":
		return object{"held": lease.Context().Err() == nil}, nil
	case "extend":
		err := lease.Extend(ctx, millis(r.TTL))
		return object{"remaining": lease.Remaining().Milliseconds()}, err
	case "release":
		return told(lease.Release(ctx))
	case "detach":
		left, err := lease.Detach()
		return object{"name": left.Name, "leaseId": left.LeaseID, "token": left.Token, "reassertion": left.Reassertion}, err
	}
	return nil, fmt.Errorf("this driver cannot do %q", r.Do)
}

func (d *driver) leads(observer string, leader *lockkeeper.Leader) {
	event := object{"event": "leader", "observer": observer, "token": 0, "owner": nil}
	if leader != nil {
		event["token"], event["owner"] = leader.Token, leader.Owner
	}
	d.say(event)
}

func told(result lockkeeper.ReleaseResult, err error) (object, error) {
	return object{"released": result.Released, "reason": result.Reason}, err
}

func (d *driver) create(r request) (object, error) {
	client, err := lockkeeper.New(lockkeeper.Options{
		Servers: r.Servers, Owner: r.Owner, CallTimeout: millis(r.CallTimeout), ReleaseTimeout: millis(r.ReleaseTimeout),
		TLS:       lockkeeper.TLS{CAFile: r.CAFile, CertificateFile: r.Certificate, KeyFile: r.Key, ServerName: r.ServerName},
		TokenFile: r.TokenFile,
	})
	if err != nil {
		return nil, err
	}
	name := r.As
	if name == "" {
		name = "client"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.clients[name] = client
	return object{}, nil
}

func (d *driver) acquire(ctx context.Context, client *lockkeeper.Client, r request) (object, error) {
	lease, err := client.Acquire(ctx, r.Name, lockkeeper.AcquireOptions{
		TTL: millis(r.TTL), Wait: millis(r.Wait), Owner: r.Owner, Labels: r.Labels, LockDelay: millis(r.LockDelay),
		MaxHold: millis(r.MaxHold), HoldAtLeast: millis(r.HoldAtLeast), StopMargin: millis(r.StopMargin), LeaseID: r.LeaseID,
	})
	var not *lockkeeper.NotAcquiredError
	if errors.As(err, &not) {
		return object{
			"granted": false, "reason": not.Reason, "holderOwner": not.HolderOwner, "remaining": not.Remaining.Milliseconds(),
		}, nil
	}
	return d.granted(r, lease, err)
}

func (d *driver) granted(r request, lease *lockkeeper.Lease, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.leases[r.As] = lease
	d.mu.Unlock()
	go func() {
		<-lease.Context().Done()
		var lost *lockkeeper.LostError
		if errors.As(lease.Err(), &lost) {
			d.say(object{"event": "lost", "lease": r.As, "cause": lost.Cause, "remaining": lease.Remaining().Milliseconds()})
		}
	}()
	return object{
		"granted": true, "token": lease.Token(), "leaseId": lease.ID(), "remaining": lease.Remaining().Milliseconds(),
		"waited": lease.Waited().Milliseconds(), "previousLeaseExpired": lease.PreviousLeaseExpired(),
	}, nil
}
