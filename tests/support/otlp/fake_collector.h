// SPDX-License-Identifier: Apache-2.0
//
// A collector of spans on a real socket, which keeps what it is sent.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "opentelemetry/proto/collector/trace/v1/trace_service.grpc.pb.h"
#include "support/tls/test_authority.h"

namespace lockkeeper::support {

namespace otlp = ::opentelemetry::proto;
using OtlpSpan = otlp::trace::v1::Span;

// The value of an attribute as text; empty if there is none.
std::string AttributeOf(const OtlpSpan& span, const std::string& key);

// An id in lower-case hex digits.
std::string HexOf(const std::string& id);

// Errors: throws std::runtime_error if it cannot listen. Thread-safety: thread-safe.
class FakeCollector {
 public:
  // Listens on 127.0.0.1. Port 0 lets the system choose. With `tls` it shows this certificate.
  explicit FakeCollector(int port = 0, const std::optional<TlsFiles>& tls = std::nullopt);
  ~FakeCollector();
  FakeCollector(const FakeCollector&) = delete;
  FakeCollector& operator=(const FakeCollector&) = delete;

  int port() const { return port_; }
  // "http://127.0.0.1:4711", or https.
  std::string endpoint() const;

  // What it answers from now on. What it does not take it does not keep.
  void Answer(const grpc::Status& status);
  // It takes all from now on, and keeps none of it.
  void KeepNothing();
  // It takes all but so many spans of each batch, and says so.
  void RejectOfEach(int64_t spans);

  std::vector<OtlpSpan> Spans() const;
  // The batches that it has taken.
  std::vector<otlp::collector::trace::v1::ExportTraceServiceRequest> Batches() const;

  // Waits until it has a span of which `is_it` says so, and returns that. Nothing after `limit`.
  std::optional<OtlpSpan> WaitFor(const std::function<bool(const OtlpSpan&)>& is_it,
                                  std::chrono::milliseconds limit = std::chrono::seconds(30));

 private:
  class Service;

  const bool tls_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  grpc::Status answer_;  // Guarded by the mutex, as the next three.
  int64_t rejected_of_each_ = 0;
  bool keeps_ = true;
  std::vector<otlp::collector::trace::v1::ExportTraceServiceRequest> batches_;

  std::unique_ptr<Service> service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;  // Last: it uses all of the above.
};

}  // namespace lockkeeper::support
