// SPDX-License-Identifier: Apache-2.0
#include "rpc/gate.h"

#include <memory>
#include <string>
#include <variant>

#include "core/errors.h"
#include "rpc/quotas.h"
#include "text/problem.h"

namespace lockkeeper::rpc {
namespace {

using Needed = access::Verb;

// One for each request, so that none can be forgotten.
absl::Status CheckRightFor(const Caller& caller, const core::AcquireRequest& request) {
  return CheckRight(caller, Needed::kAcquire, request.name);
}
absl::Status CheckRightFor(const Caller& caller, const core::ExtendRequest& request) {
  return CheckRight(caller, Needed::kExtend, request.name);
}
absl::Status CheckRightFor(const Caller& caller, const core::ReleaseRequest& request) {
  return CheckRight(caller, Needed::kRelease, request.name);
}
absl::Status CheckRightFor(const Caller& caller, const core::FenceRequest& request) {
  return CheckRight(caller, Needed::kFence, request.name);
}
absl::Status CheckRightFor(const Caller& caller, const InspectRequest& request) {
  return CheckRight(caller, Needed::kInspect, request.name);
}
absl::Status CheckRightFor(const Caller& caller, const ListRequest& request) {
  return CheckRight(caller, Needed::kList, request.prefix);
}
// Each event is checked again, by the rights of its time.
absl::Status CheckRightFor(const Caller& caller, const WatchRequest& request) {
  const bool is_one = request.filter.match == core::WatchFilter::Match::kName;
  return CheckRight(caller, is_one ? Needed::kInspect : Needed::kList, request.filter.text);
}
absl::Status CheckRightFor(const Caller& caller, const ListContendedRequest& request) {
  return CheckRight(caller, Needed::kList, request.prefix);
}
absl::Status CheckRightFor(const Caller& caller, const ForceReleaseRequest& request) {
  return CheckRight(caller, Needed::kForceRelease, request.name);
}
absl::Status CheckRightFor(const Caller& caller, const EndQuarantineRequest&) {
  return CheckRight(caller, Needed::kEndQuarantine, "");
}
absl::Status CheckRightFor(const Caller& caller, const DrainRequest&) {
  return CheckRight(caller, Needed::kDrain, "");
}
absl::Status CheckRightFor(const Caller& caller, const ServerInfoRequest&) {
  return CheckRight(caller, Needed::kAdmin, "");
}
// It only tells callers about themselves.
absl::Status CheckRightFor(const Caller&, const CheckAccessRequest&) { return absl::OkStatus(); }
// Each operation of the session is checked for itself.
absl::Status CheckRightFor(const Caller& caller, const OpenSessionRequest&) {
  if (caller.rights().AllowsAnything()) return absl::OkStatus();
  return core::Error(core::ErrorReason::kPermissionDenied,
                     DescriptionOf(caller.identity()) + " has no right at all");
}

}  // namespace

// Sequentially consistent, as is Close(): either this sees that the gate is closed, or Close() sees
// the call.
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
  const bool is_empty = empty_.wait_for(lock, limit, [this] { return calls_.load() == 0; });
  // Not asked again: a call that comes late counts for a moment.
  return is_empty ? 0 : calls_.load();
}

absl::Status Gate::Check(Caller& caller, Operation& operation, Rejection& rejection) {
  rejection = Rejection::kOfRequest;
  // GetServerInfo is answered until the daemon ends.
  const bool is_about_daemon = operation.verb() == Verb::kServerInfo;
  if (caller.arrival() == Arrival::kLate && !is_about_daemon) return core::Draining();
  rejection = Rejection::kOfCaller;
  if (auto status = caller.Identify(access_); !status.ok()) return status;
  rejection = Rejection::kOfRequest;
  const std::shared_ptr<const core::ConfiguredLimits> limits = limits_.Current();
  ApplyDefaults(*limits, operation);
  if (auto status = Validate(operation, *limits); !status.ok()) return status;
  rejection = Rejection::kOfCaller;
  const absl::Status right = std::visit(
      [&](const auto& request) { return CheckRightFor(caller, request); }, operation.request);
  if (!right.ok()) return right;
  if (auto status = ApplyQuotas(caller, usage_, clock_.Now(), refusals_, operation); !status.ok()) {
    return status;
  }
  rejection = Rejection::kOfRequest;
  return operation.verb() == Verb::kAcquire ? auditor_.CheckGrant() : absl::OkStatus();
}

absl::Status Gate::Admit(Caller& caller, Operation& operation) {
  Rejection rejection{};
  const absl::Status status = Check(caller, operation, rejection);
  if (!status.ok()) {
    auditor_.Rejected(caller, operation, status, rejection);
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

absl::Status CheckRight(const Caller& caller, access::Verb verb, std::string_view name) {
  const access::Rights& rights = caller.rights();
  const bool is_list = verb == access::Verb::kList;
  if (is_list ? rights.AllowsBelow(verb, name) : rights.Allows(verb, name)) return absl::OkStatus();
  std::string why = DescriptionOf(caller.identity());
  why += " does not have the right ";
  why += NameOf(verb);
  if (is_list) why += " on any lock whose name begins with " + text::Quoted(name);
  if (!is_list && access::IsAboutLock(verb)) why += " on the lock " + text::Quoted(name);
  return core::Error(core::ErrorReason::kPermissionDenied, why);
}

}  // namespace lockkeeper::rpc
