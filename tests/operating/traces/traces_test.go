// SPDX-License-Identifier: Apache-2.0
//
// The daemon's spans as OpenTelemetry's published Go module reads them: an independent check of what the daemon sends, whose protos are its
// own. Environment: LOCKKEEPERD and LOCKKEEPER are the programs.
package traces

import (
	"bufio"
	"context"
	"encoding/hex"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

const patience = 30 * time.Second

type service struct {
	collector.UnimplementedTraceServiceServer
	mutex    sync.Mutex
	requests []*collector.ExportTraceServiceRequest
	came     chan struct{}
}

func (s *service) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mutex.Lock()
	s.requests = append(s.requests, request)
	s.mutex.Unlock()
	select {
	case s.came <- struct{}{}:
	default:
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// The spans that came, by their names.
func (s *service) spans() map[string]*trace.Span {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	spans := map[string]*trace.Span{}
	for _, request := range s.requests {
		for _, resource := range request.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for _, span := range scope.Spans {
					spans[span.Name] = span
				}
			}
		}
	}
	return spans
}

func startCollector(t *testing.T) (*service, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &service{came: make(chan struct{}, 1)}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go server.Serve(listener)
	t.Cleanup(server.Stop)
	return s, "http://" + listener.Addr().String()
}

// Starts a daemon with a store of its own, and returns its address once it is ready.
func startDaemon(t *testing.T, endpoint string) string {
	t.Helper()
	daemon := exec.Command(os.Getenv("LOCKKEEPERD"), "--embedded", "--data-dir", t.TempDir(), "--listen", "127.0.0.1:0", "--http-listen", "",
		"--traces-endpoint", endpoint, "--traces-sample-ratio", "1")
	daemon.Stderr = os.Stderr
	out, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		daemon.Process.Signal(os.Interrupt)
		daemon.Wait()
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		for _, word := range strings.Fields(lines.Text()) {
			if strings.HasPrefix(word, "grpc=") {
				return strings.TrimPrefix(word, "grpc=")
			}
		}
	}
	t.Fatal("the daemon does not say where it listens")
	return ""
}

func attributes(pairs []*common.KeyValue) map[string]string {
	found := map[string]string{}
	for _, pair := range pairs {
		found[pair.Key] = pair.Value.GetStringValue()
	}
	return found
}

// Fails if the message, or one in it, has a field that the published protos do not know.
func checkKnown(t *testing.T, message proto.Message) {
	t.Helper()
	var check func(m protoreflect.Message)
	check = func(m protoreflect.Message) {
		if len(m.GetUnknown()) > 0 {
			t.Errorf("%s has fields that OpenTelemetry does not know", m.Descriptor().FullName())
		}
		m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case field.Message() == nil:
			case field.IsList():
				for i := 0; i < value.List().Len(); i++ {
					check(value.List().Get(i).Message())
				}
			default:
				check(value.Message())
			}
			return true
		})
	}
	check(message.ProtoReflect())
}

func TestSpansAreWhatOpenTelemetryReads(t *testing.T) {
	s, endpoint := startCollector(t)
	address := startDaemon(t, endpoint)
	command := exec.Command(os.Getenv("LOCKKEEPER"), "--server", address, "run", "jobs/1", "--", "true")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	const acquire, release = "lockkeeper.v1.LockService/Acquire", "lockkeeper.v1.LockService/Release"
	deadline := time.After(patience)
	for spans := s.spans(); spans[acquire] == nil || spans[release] == nil || spans["store"] == nil; spans = s.spans() {
		select {
		case <-s.came:
		case <-deadline:
			t.Fatalf("only these came: %v", spans)
		}
	}

	s.mutex.Lock()
	requests := s.requests
	s.mutex.Unlock()
	for _, request := range requests {
		checkKnown(t, request)
	}
	resource := attributes(requests[0].ResourceSpans[0].Resource.Attributes)
	if resource["service.name"] != "lockkeeper" || resource["service.version"] == "" || len(resource["service.instance.id"]) != 16 {
		t.Errorf("resource: %v", resource)
	}
	if scope := requests[0].ResourceSpans[0].ScopeSpans[0].Scope; scope.Name != "lockkeeperd" || scope.Version != resource["service.version"] {
		t.Errorf("scope: %v", scope)
	}

	call, store := s.spans()[acquire], s.spans()["store"]
	if len(call.TraceId) != 16 || len(call.SpanId) != 8 || len(call.ParentSpanId) != 0 {
		t.Errorf("ids: %s %s %s", hex.EncodeToString(call.TraceId), hex.EncodeToString(call.SpanId), hex.EncodeToString(call.ParentSpanId))
	}
	if call.Kind != trace.Span_SPAN_KIND_SERVER || store.Kind != trace.Span_SPAN_KIND_CLIENT || len(store.ParentSpanId) != 8 {
		t.Errorf("kinds: %v %v", call.Kind, store.Kind)
	}
	if call.Flags&uint32(trace.SpanFlags_SPAN_FLAGS_TRACE_FLAGS_MASK) != 1 {
		t.Errorf("flags: %x", call.Flags)
	}
	now := uint64(time.Now().UnixNano())
	if begin, end := call.StartTimeUnixNano, call.EndTimeUnixNano; begin >= end || end > now || now-begin > uint64(10*time.Minute) {
		t.Errorf("from %d to %d, now %d", begin, end, now)
	}
	if call.Status.GetCode() != trace.Status_STATUS_CODE_UNSET {
		t.Errorf("status: %v", call.Status)
	}
	said := attributes(call.Attributes)
	for key, want := range map[string]string{"rpc.system": "grpc", "rpc.service": "lockkeeper.v1.LockService", "rpc.method": "Acquire",
		"lockkeeper.outcome": "granted", "lockkeeper.lock": "jobs/1"} {
		if said[key] != want {
			t.Errorf("%s is %q, and should be %q", key, said[key], want)
		}
	}
	for _, pair := range call.Attributes {
		if pair.Key == "lockkeeper.fencing_token" && pair.Value.GetIntValue() <= 0 {
			t.Errorf("token: %v", pair.Value)
		}
	}
}
