// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_context.h"

#include <chrono>
#include <string>

#include "core/errors.h"
#include "core/limits.h"
#include "rpc/call_span.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::rpc {
namespace {

// A deadline further away than this is none: it outlives every wait and every lease.
constexpr std::chrono::hours kDeadlineHorizon{24 * 365};

}  // namespace

core::Instant ToInstant(gpr_timespec deadline, core::Instant now) {
  if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
    return core::Instant::max();
  }
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  const std::chrono::seconds seconds(left.tv_sec);
  if (seconds >= kDeadlineHorizon) return core::Instant::max();
  if (seconds < std::chrono::seconds(0)) return now;
  return now + seconds + std::chrono::nanoseconds(left.tv_nsec);
}

CallRecorder::CallRecorder(const ServiceDeps& deps, Auditor& auditor)
    : clock_(deps.clock),
      auditor_(auditor),
      tracer_(deps.tracer),
      logger_(deps.logger),
      log_(deps.logger),
      invariants_violated_(deps.metrics.invariants_violated()),
      request_ids_(deps.facts.daemon_id) {
  for (size_t verb = 0; verb < kVerbs; ++verb) {
    metrics_[verb] = &deps.metrics.ForRpc(RpcNameOf(static_cast<Verb>(verb)));
  }
}

void CallRecorder::Record(Verb verb, Caller& caller, const Subject& subject,
                          telemetry::Outcome outcome, const absl::Status& status,
                          core::Micros elapsed, const core::TraceRef& trace) {
  metrics_[static_cast<size_t>(verb)]->Record(outcome, telemetry::CodeOf(outcome, status), elapsed);
  auditor_.Answered(verb, caller, subject, outcome, status);
  NoteDefect(status);
  if (trace != nullptr) EndSpan(*tracer_, trace, {verb, caller, subject, outcome, status});
  // Most answers end here: their texts are only made when somebody will read them.
  if (status.ok() && !logger_.Enabled(telemetry::LogLevel::kDebug)) return;
  const std::string peer = caller.Peer();
  log_.Write({
      .request_id = caller.RequestId(),
      .rpc = RpcNameOf(verb),
      .peer = peer,
      .principal = caller.principal(),
      .owner_id = subject.owner.substr(0, core::limits::kOwnerBytesMax),
      .lock_name = subject.lock_name.substr(0, core::limits::kNameBytesMax),
      .lease_id = subject.lease_id,
      .token = subject.token,
      .waited = subject.lease != nullptr ? subject.lease->waited : core::Micros{},
      .outcome = outcome,
      .status = status,
      .elapsed = elapsed,
  });
}

void CallRecorder::NoteDefect(const absl::Status& status) {
  if (status.ok()) return;
  // A status without a reason becomes INVARIANT_VIOLATED, too.
  const core::ErrorReason violated = core::ErrorReason::kInvariantViolated;
  if (core::ReasonOf(status).value_or(violated) != violated) return;
  invariants_violated_.Increment();
  const std::string problem(status.message());
  logger_.WriteLimited(
      invariant_limit_, telemetry::LogLevel::kError, "invariant.violated",
      "A state that should be impossible was found, and the request failed: a defect",
      {telemetry::field::Problem(problem)});
}

CallContext::CallContext(const Edge& edge, const grpc::CallbackServerContext& call)
    : edge_(edge),
      call_(call),
      caller_(call, edge.recorder.request_ids(), edge.gate.Enter()),
      trace_(BeginTrace(edge.deps.tracer, call)),
      arrived_(edge.recorder.Now()),
      deadline_(ToInstant(call.raw_deadline(), arrived_)) {}

void CallContext::RecordAnswer(Verb verb, const Subject& subject, telemetry::Outcome outcome,
                               const absl::Status& status) {
  answered_ = edge_.recorder.Now();
  edge_.recorder.Record(verb, caller_, subject, outcome, status,
                        std::chrono::duration_cast<core::Micros>(answered_ - arrived_), trace_);
}

}  // namespace lockkeeper::rpc
