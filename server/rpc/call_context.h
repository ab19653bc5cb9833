// SPDX-License-Identifier: Apache-2.0
//
// What is known of one call besides its message: who asks, until when, and under which id. When the
// call is answered its metrics and its record are written here, for all rpcs alike.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/clock.h"
#include "core/types.h"
#include "grpc/support/time.h"
#include "grpcpp/server_context.h"
#include "rpc/call_gate.h"
#include "telemetry/call_log.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::rpc {

// Metadata key under which a caller names its request, for people who compare logs.
inline constexpr char kRequestIdKey[] = "x-request-id";
inline constexpr size_t kRequestIdBytesMax = 128;

// What all calls of all rpcs have in common.
//
// Thread-safety: thread-safe. Lifetime: borrows `clock` and the logger's log.
class CallRecorder {
 public:
  CallRecorder(const core::Clock& clock, telemetry::Logger logger, uint64_t daemon_id)
      : clock_(clock), logger_(logger), log_(logger), daemon_id_(daemon_id) {}

  core::Instant Now() const { return clock_.Now(); }
  const telemetry::Logger& logger() const { return logger_; }
  telemetry::CallLog& log() { return log_; }

  CallGate& gate() { return gate_; }

  // A request id that no other call of any daemon has.
  std::string NewRequestId();

 private:
  const core::Clock& clock_;
  CallGate gate_;
  const telemetry::Logger logger_;
  telemetry::CallLog log_;
  const uint64_t daemon_id_;
  std::atomic<uint64_t> next_request_{0};
};

// What all calls of one rpc have in common. Made once, at start-up.
struct RpcKind {
  std::string_view name;  // "Acquire"
  telemetry::RpcMetrics& metrics;
  CallRecorder& recorder;
};

// What a call was about, as far as it is known when it is answered.
struct CallSubject {
  std::string_view lock_name;
  std::string_view owner;
  std::optional<core::LeaseId> lease_id;
  core::FencingToken token;
  core::Micros waited{};
};

// Thread-safety: one thread at a time. Lifetime: borrows both arguments.
class CallContext {
 public:
  CallContext(const RpcKind& kind, const grpc::CallbackServerContext& call);
  ~CallContext() { kind_.recorder.gate().Leave(); }
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  // Whether the call may be carried out: OK, or SERVER_DRAINING.
  absl::Status Admission() const;

  // When the caller stops waiting; Instant::max() if it gave no deadline. Converted once, on
  // arrival, so that no later step of the wall clock moves it.
  core::Instant deadline() const { return deadline_; }

  // Authenticated identity. Empty: nobody is authenticated yet.
  const std::string& principal() const { return principal_; }

  // The caller's, from metadata, if it is 1 to kRequestIdBytesMax printable bytes; else a new one.
  const std::string& RequestId();

  std::string Peer() const { return call_.peer(); }

  // Whether it is certain that the caller has no use for the answer: it left before our status
  // could be sent, or its deadline had passed by then. False does not say that the answer arrived.
  // Requires: the call is over.
  bool AnswerIsLost() const { return call_.IsCancelled() || answered_ >= deadline_; }

  // Whether the caller is known to have left. It may leave at any time.
  bool IsCancelled() const { return call_.IsCancelled(); }

  const RpcKind& kind() const { return kind_; }

  // Counts the call and writes its record. With the outcome `cancelled` the code is CANCELLED, as
  // the caller has it. Call it once, before the answer goes out, so that whoever has the answer
  // finds it counted.
  void RecordAnswer(telemetry::Outcome outcome, const absl::Status& status,
                    const CallSubject& subject);

 private:
  const RpcKind& kind_;
  const grpc::CallbackServerContext& call_;
  const bool admitted_;
  const core::Instant arrived_;
  const core::Instant deadline_;
  const std::string principal_;
  std::string request_id_;
  core::Instant answered_;
};

// `deadline` as gRPC has it, on the clock of `now`.
core::Instant ToInstant(gpr_timespec deadline, core::Instant now);

}  // namespace lockkeeper::rpc
