// SPDX-License-Identifier: Apache-2.0
#include "rpc/call_context.h"

#include <algorithm>
#include <chrono>

#include "core/errors.h"
#include "core/limits.h"

namespace lockkeeper::rpc {
namespace {

// A deadline further away than this is none: it outlives every wait and every lease.
constexpr std::chrono::hours kDeadlineHorizon{24 * 365};

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string_view RequestIdOf(const grpc::CallbackServerContext& call) {
  const auto& metadata = call.client_metadata();
  const auto entry = metadata.find(kRequestIdKey);
  if (entry == metadata.end()) return {};
  const std::string_view id(entry->second.data(), entry->second.size());
  if (id.size() > kRequestIdBytesMax || !IsPrintable(id)) return {};
  return id;
}

core::Micros ToMicros(core::Instant::duration time) {
  return std::chrono::duration_cast<core::Micros>(time);
}

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

std::string CallRecorder::NewRequestId() {
  const uint64_t number = next_request_.fetch_add(1, std::memory_order_relaxed);
  return core::Hex16(daemon_id_) + "-" + std::to_string(number);
}

CallContext::CallContext(const RpcKind& kind, const grpc::CallbackServerContext& call)
    : kind_(kind),
      call_(call),
      admitted_(kind.recorder.gate().Enter()),
      arrived_(kind.recorder.Now()),
      deadline_(ToInstant(call.raw_deadline(), arrived_)) {}

absl::Status CallContext::Admission() const {
  if (admitted_) return absl::OkStatus();
  return core::Error(core::ErrorReason::kServerDraining, "this daemon is stopping");
}

const std::string& CallContext::RequestId() {
  if (request_id_.empty()) request_id_ = RequestIdOf(call_);
  if (request_id_.empty()) request_id_ = kind_.recorder.NewRequestId();
  return request_id_;
}

void CallContext::RecordAnswer(telemetry::Outcome outcome, const absl::Status& status,
                               const CallSubject& subject) {
  answered_ = kind_.recorder.Now();
  const core::Micros elapsed = ToMicros(answered_ - arrived_);
  kind_.metrics.Record(outcome, telemetry::CodeOf(outcome, status), elapsed);
  // Most calls end here: their texts are only made when somebody will read them.
  if (status.ok() && !kind_.recorder.logger().Enabled(telemetry::LogLevel::kDebug)) return;
  const std::string peer = Peer();
  kind_.recorder.log().Write({
      .request_id = RequestId(),
      .rpc = kind_.name,
      .peer = peer,
      .owner_id = subject.owner.substr(0, core::limits::kOwnerBytesMax),
      .lock_name = subject.lock_name.substr(0, core::limits::kNameBytesMax),
      .lease_id = subject.lease_id,
      .token = subject.token,
      .waited = subject.waited,
      .outcome = outcome,
      .status = status,
      .elapsed = elapsed,
  });
}

}  // namespace lockkeeper::rpc
