// SPDX-License-Identifier: Apache-2.0

package lockkeeper

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

var grpcAddress = regexp.MustCompile(` grpc=(\S+)`)

// startDaemon starts a daemon with a store of its own, and returns its address.
func startDaemon(t *testing.T, listen string, flags ...string) (string, *exec.Cmd) {
	t.Helper()
	program := os.Getenv("LOCKKEEPERD")
	if program == "" {
		t.Fatal("LOCKKEEPERD must name the daemon: client/go/check.sh says how")
	}
	flags = append([]string{"--embedded", "--data-dir", t.TempDir(), "--listen", listen, "--http-listen", "127.0.0.1:0"}, flags...)
	daemon := exec.Command(program, flags...)
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt)
		_ = daemon.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if found := grpcAddress.FindStringSubmatch(lines.Text()); found != nil {
			go func() {
				for lines.Scan() { // so that it can go on writing
				}
			}()
			return found[1], daemon
		}
	}
	t.Fatal("the daemon did not say that it is ready")
	return "", nil
}

func newClient(t *testing.T, options Options) *Client {
	t.Helper()
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// lockkeeper runs the command line.
func lockkeeper(t *testing.T, address string, arguments ...string) {
	t.Helper()
	command := exec.Command(os.Getenv("LOCKKEEPER"), append([]string{"--server", address}, arguments...)...)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", arguments, err, out)
	}
}

func TestWithReturnsTheErrorOfTheWorkIfTheReleaseFailsToo(t *testing.T) {
	address, daemon := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}, ReleaseTimeout: 100 * time.Millisecond})
	ours := errors.New("ours")
	err := client.With(context.Background(), "job", AcquireOptions{}, func(context.Context, *Lease) error {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		return ours
	})
	if err != ours {
		t.Errorf("With returned %v", err)
	}
}

func TestWithRunsOnceAndReleases(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	ctx := context.Background()
	ours := errors.New("ours")
	var first int64
	err := client.With(ctx, "job", AcquireOptions{Owner: "me"}, func(ctx context.Context, lease *Lease) error {
		first = lease.Token()
		_, err := client.Acquire(ctx, "job", AcquireOptions{})
		var not *NotAcquiredError
		if !errors.Is(err, ErrNotAcquired) || !errors.As(err, &not) || not.HolderOwner != "me" || not.Reason != Held {
			t.Errorf("a held lock answers %v", err)
		}
		return ours
	})
	if err != ours {
		t.Errorf("With returned %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = client.With(ctx, "job", AcquireOptions{}, func(context.Context, *Lease) error { panic("the work failed") })
	}()
	lease, err := client.Acquire(ctx, "job", AcquireOptions{})
	if err != nil {
		t.Fatalf("the lock was not released: %v", err)
	}
	if lease.Token() <= first || lease.PreviousLeaseExpired() {
		t.Errorf("token %d after %d, previous expired: %v", lease.Token(), first, lease.PreviousLeaseExpired())
	}
}

func TestTheContextEndsWithTheLease(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	type key struct{}
	err := client.With(
		context.WithValue(context.Background(), key{}, "value"), "job", AcquireOptions{TTL: time.Second},
		func(ctx context.Context, lease *Lease) error {
			if lease.Context().Value(key{}) != "value" {
				t.Error("the lease's context has not the values of the acquire's")
			}
			lockkeeper(t, address, "force-release", "job", "--reason", "test", "--now")
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Second):
				t.Error("the context does not end")
			}
			<-lease.Lost()
			return nil
		})
	var lost *LostError
	if !errors.As(err, &lost) || lost.Cause != LeaseLost || ReasonOf(err) != ReasonLeaseLost {
		t.Errorf("With returned %v", err)
	}
}

func TestAReleasedLeaseIsNotLost(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	ctx := context.Background()
	lease, err := client.Acquire(ctx, "job", AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if done, err := lease.Release(lease.Context()); err != nil || !done.Released {
		t.Errorf("released %v, %v", done, err)
	}
	<-lease.Context().Done()
	if lease.Err() != ErrReleased || lease.Held() || lease.Remaining() != 0 {
		t.Errorf("after the release: %v, %v left", lease.Err(), lease.Remaining())
	}
	select {
	case <-lease.Lost():
		t.Error("a released lease is lost")
	default:
	}
	if _, err := lease.Detach(); err != ErrReleased {
		t.Errorf("detached after the release: %v", err)
	}
}

func TestAReleaseGoesOnWhenItsContextHasEnded(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	lease, err := client.Acquire(context.Background(), "job", AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	_, _ = lease.Release(ended)
	if _, err := client.Acquire(context.Background(), "job", AcquireOptions{Wait: 5 * time.Second}); err != nil {
		t.Errorf("the lock was not released: %v", err)
	}
}

func TestTheCallerEndsAnAcquire(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	if _, err := client.Acquire(context.Background(), "job", AcquireOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err := client.Acquire(ctx, "job", AcquireOptions{Wait: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(began))
	}
}

func TestManyLeasesShareAHeartbeat(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	client := newClient(t, Options{Servers: []string{address}})
	leases := make([]*Lease, 50)
	for i := range leases {
		var err error
		if leases[i], err = client.Acquire(context.Background(), fmt.Sprint("job/", i), AcquireOptions{TTL: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	d, _ := client.daemons.current()
	s := d.session()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); {
		s.mu.Lock()
		beats := s.beats.number
		s.mu.Unlock()
		if beats >= 12 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.mu.Lock()
	beats, operations := s.beats.number, s.lastID
	s.mu.Unlock()
	if beats < 12 || operations > 3*uint64(len(leases)) {
		t.Errorf("%d heartbeats and %d operations for %d leases", beats, operations, len(leases))
	}
	for _, lease := range leases {
		if !lease.Held() {
			t.Fatal(lease.Err())
		}
	}
}

func TestBadInputNamesTheField(t *testing.T) {
	for field, options := range map[string]Options{
		"servers":              {Servers: []string{"nowhere"}},
		"token_file":           {TokenFile: "/does/not/exist"},
		"tls.ca_file":          {TLS: TLS{CAFile: "/does/not/exist"}},
		"tls.certificate_file": {TLS: TLS{CertificateFile: "x"}},
		"call_timeout":         {CallTimeout: -1},
		"release_timeout":      {ReleaseTimeout: -1},
	} {
		_, err := New(options)
		var problem *Error
		if !errors.As(err, &problem) || problem.Field != field || problem.Reason != ReasonInvalidField {
			t.Errorf("%s: %v", field, err)
		}
	}
	far := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(far, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(Options{Servers: []string{"192.0.2.1:7600"}, TokenFile: far})
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a token in the clear: %v", err)
	}
	client := newClient(t, Options{})
	for field, options := range map[string]AcquireOptions{
		"wait_timeout": {Wait: -1},
		"stop_margin":  {TTL: time.Second, StopMargin: time.Second},
		"owner":        {Owner: "\xff"},
		"labels":       {Labels: map[string]string{"a": "\xff"}},
		"lease_id":     {LeaseID: "\xff"},
	} {
		_, err := client.Acquire(context.Background(), "job", options)
		var problem *Error
		if !errors.As(err, &problem) || problem.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestATokenFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	file, err := openTokenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before := file.versionNow()
	write("the second")
	if token, version := file.current(); token != "the second" || version == before {
		t.Errorf("token %q, version %d after %d", token, version, before)
	}
	write("two\nlines")
	if token, _ := file.current(); token != "the second" {
		t.Errorf("a malformed file gives %q", token)
	}
}

func TestCloseReleasesAndLeavesNothingRunning(t *testing.T) {
	address, _ := startDaemon(t, "127.0.0.1:0")
	before := runtime.NumGoroutine()
	client := newClient(t, Options{Servers: []string{address}})
	lease, err := client.Acquire(context.Background(), "job", AcquireOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Close(); err != nil {
		t.Error(err)
	}
	if lease.Err() != ErrReleased {
		t.Errorf("after the close: %v", lease.Err())
	}
	if _, err := client.Acquire(context.Background(), "job", AcquireOptions{}); err != ErrClosed {
		t.Errorf("acquired with a closed client: %v", err)
	}
	other := newClient(t, Options{Servers: []string{address}})
	if _, err := other.Acquire(context.Background(), "job", AcquireOptions{}); err != nil {
		t.Errorf("not released: %v", err)
	}
	_ = other.Close()
	for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(until) {
			stacks := make([]byte, 1<<16)
			t.Fatalf("%d goroutines after %d:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// makeCertificate writes a certificate that signs itself, and its key.
func makeCertificate(t *testing.T, folder string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "lockkeeper test"}, IsCA: true,
		BasicConstraintsValid: true, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, &template, &template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate, key = filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem")
	for path, block := range map[string]*pem.Block{
		certificate: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: secret},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certificate, key
}

func TestMutualTLSWithFilesThatChange(t *testing.T) {
	certificate, key := makeCertificate(t, t.TempDir())
	address, _ := startDaemon(t, "mtls://127.0.0.1:0", "--tls-cert", certificate, "--tls-key", key, "--tls-client-ca", certificate)
	address = "tls://" + address[strings.LastIndex(address, "/")+1:]

	ours := t.TempDir()
	ourCertificate, ourKey := makeCertificate(t, ours) // of nobody that the daemon trusts
	client := newClient(t, Options{
		Servers: []string{address}, CallTimeout: 20 * time.Second,
		TLS: TLS{CAFile: certificate, CertificateFile: ourCertificate, KeyFile: ourKey},
	})
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if _, err := client.Acquire(ctx, "job", AcquireOptions{}); err == nil {
		t.Fatal("acquired with a certificate that the daemon does not trust")
	}
	for from, to := range map[string]string{certificate: ourCertificate, key: ourKey} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.Acquire(context.Background(), "job", AcquireOptions{}); err != nil {
		t.Errorf("with the files that have changed: %v", err)
	}

	stranger, _ := makeCertificate(t, t.TempDir())
	distrusts := newClient(t, Options{Servers: []string{address}, CallTimeout: time.Second, TLS: TLS{CAFile: stranger}})
	if _, err := distrusts.Acquire(context.Background(), "job", AcquireOptions{}); err == nil {
		t.Error("acquired from a daemon whose certificate nobody trusts")
	}
}
