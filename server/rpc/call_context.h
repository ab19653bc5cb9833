// SPDX-License-Identifier: Apache-2.0
//
// What every rpc needs besides its message: the caller, the deadline, and the metrics and the log
// record of the answer.
#pragma once

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "core/clock.h"
#include "core/types.h"
#include "grpc/support/time.h"
#include "grpcpp/server_context.h"
#include "rpc/audit.h"
#include "rpc/caller.h"
#include "rpc/fair_share.h"
#include "rpc/gate.h"
#include "rpc/operation.h"
#include "rpc/service_deps.h"
#include "telemetry/call_log.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/tracer.h"

namespace lockkeeper::rpc {

// Counts, logs, audits and traces what was answered.
//
// Thread-safety: thread-safe. Lifetime: borrows the clock, the metrics, the log and the tracer of
// `deps`.
class CallRecorder {
 public:
  // Lifetime: borrows `auditor` too.
  CallRecorder(const ServiceDeps& deps, Auditor& auditor);

  core::Instant Now() const { return clock_.Now(); }
  RequestIds& request_ids() { return request_ids_; }

  // Call it before the answer is sent, so that a caller that has the answer finds it counted. With
  // the outcome `cancelled` the code is CANCELLED, as the caller sees it. `trace`: that of the
  // operation, whose span ends; null if it is not traced.
  void Record(Verb verb, Caller& caller, const Subject& subject, telemetry::Outcome outcome,
              const absl::Status& status, core::Micros elapsed, const core::TraceRef& trace);

  // Counts and logs an answer that only a defect can give: INVARIANT_VIOLATED. Record does it; call
  // it for what a session answers by other messages than results.
  void NoteDefect(const absl::Status& status);

 private:
  const core::Clock& clock_;
  Auditor& auditor_;
  tracing::Tracer* const tracer_;  // Null: nothing is traced.
  const telemetry::Logger logger_;
  telemetry::CallLog log_;
  std::array<telemetry::RpcMetrics*, kVerbs> metrics_;
  const telemetry::Counter invariants_violated_;
  telemetry::LogLimit invariant_limit_;
  RequestIds request_ids_;
};

// What all services share. Lifetime: borrows its parts.
struct Edge {
  const ServiceDeps& deps;
  Gate& gate;
  CallRecorder& recorder;
  Auditor& auditor;
  FairShare& fair_share;
};

// A call is in the gate as long as this lives.
// Thread-safety: one thread at a time. Lifetime: borrows both.
class CallContext {
 public:
  CallContext(const Edge& edge, const grpc::CallbackServerContext& call);
  ~CallContext() { edge_.gate.Leave(); }
  CallContext(const CallContext&) = delete;
  CallContext& operator=(const CallContext&) = delete;

  Caller& caller() { return caller_; }

  // Null if the call is not traced.
  const core::TraceRef& trace() const { return trace_; }

  // When the caller stops waiting; Instant::max() if it gave no deadline. Converted once, on
  // arrival, so that no later step of the wall clock moves it.
  core::Instant deadline() const { return deadline_; }

  // True if the caller certainly did not get the answer: it left before our status could be sent,
  // or its deadline had passed. False does not mean that the answer arrived.
  // Requires: the call is over.
  bool AnswerIsLost() const { return call_.IsCancelled() || answered_ >= deadline_; }

  // Whether the caller is known to have left. It may leave at any time.
  bool IsCancelled() const { return call_.IsCancelled(); }

  // See CallRecorder::Record. Call it once.
  void RecordAnswer(Verb verb, const Subject& subject, telemetry::Outcome outcome,
                    const absl::Status& status);

 private:
  const Edge& edge_;
  const grpc::CallbackServerContext& call_;
  Caller caller_;
  const core::TraceRef trace_;
  const core::Instant arrived_;
  const core::Instant deadline_;
  core::Instant answered_;
};

// Converts a deadline of gRPC to the clock of `now`.
core::Instant ToInstant(gpr_timespec deadline, core::Instant now);

}  // namespace lockkeeper::rpc
