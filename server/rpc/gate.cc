// SPDX-License-Identifier: Apache-2.0
#include "rpc/gate.h"

#include <variant>

#include "core/errors.h"
#include "rpc/audit.h"

namespace lockkeeper::rpc {

// Sequentially consistent, as is Close(): either this sees that the gate is closed, or Close() sees
// that the call is in.
Arrival Gate::Enter() {
  calls_.fetch_add(1);
  return closed_.load() ? Arrival::kLate : Arrival::kInTime;
}

void Gate::Leave() {
  if (calls_.fetch_sub(1) != 1 || !closed_.load()) return;
  const std::lock_guard lock(mutex_);
  empty_.notify_all();
}

int64_t Gate::Close(core::Millis limit) {
  closed_.store(true);
  std::unique_lock lock(mutex_);
  empty_.wait_for(lock, limit, [this] { return calls_.load() == 0; });
  return calls_.load();
}

absl::Status Gate::Check(const Caller& caller, const Operation& operation) const {
  // What a daemon knows of itself it tells until its end.
  const bool is_about_daemon = operation.verb() == Verb::kServerInfo;
  if (caller.arrival() == Arrival::kLate && !is_about_daemon) return Draining();
  return Validate(operation, limits_);
}

absl::Status Gate::Admit(Caller& caller, Operation& operation) {
  const absl::Status status = Check(caller, operation);
  if (!status.ok()) {
    const auto* forced = std::get_if<ForceReleaseRequest>(&operation.request);
    if (forced != nullptr) AuditRejected(logger_, caller, *forced, status);
    return status;
  }
  std::visit(
      [&](auto& request) {
        if constexpr (requires { request.principal; }) request.principal = caller.principal();
      },
      operation.request);
  if (auto* acquire = std::get_if<core::AcquireRequest>(&operation.request)) {
    acquire->keeper = core::Keeper(daemon_id_, NewNumber());
  }
  return status;
}

absl::Status Draining() {
  return core::Error(core::ErrorReason::kServerDraining, "this daemon is stopping");
}

}  // namespace lockkeeper::rpc
