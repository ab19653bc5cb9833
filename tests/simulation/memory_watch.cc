// SPDX-License-Identifier: Apache-2.0
#include "simulation/memory_watch.h"

#include <array>
#include <utility>
#include <variant>

#include "core/errors.h"
#include "simulation/acquire_answer.h"

namespace lockkeeper::simulation {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"",        "acquire",  "extend",
                                                    "release", "withdraw", "fence"};
// Outcomes of acquires and extends: granted, known already, held by another, or the error.
constexpr int kGranted = 0;
constexpr int kKnown = 1;
constexpr int kHeld = 2;
constexpr int kErrors = 10;
constexpr int kOutcomes = 100;

int OutcomeOf(const absl::Status& error) {
  return kErrors + static_cast<int>(core::ReasonOf(error).value_or(core::ErrorReason{}));
}

}  // namespace

void MemoryWatch::Carried(Operation operation, const std::string& daemon, const std::string& lock,
                          std::string_view who, int outcome) {
  ++executed_;
  const int number = static_cast<int>(operation);
  coverage_.Operation(lock, number * kOutcomes + outcome, daemon, clock_.Now());
  if (!traces()) return;
  Trace("daemon " + daemon.substr(daemon.size() - 2) + " " +
        std::string(kNames[static_cast<size_t>(number)]) + " " + lock + ": " +
        std::string(who.substr(0, 8)) + " -> " + std::to_string(outcome));
}

// The lock has a lease until `end`.
void MemoryWatch::Runs(const std::string& lock, Instant end, Micros lock_delay) {
  coverage_.Record(lock, 'H', end);
  coverage_.Ends(Edge::kLease, end);
  coverage_.Ends(Edge::kConfirmed, clock_.Now());
  if (lock_delay > Micros(0)) coverage_.Ends(Edge::kLockDelay, end + lock_delay);
}

absl::StatusOr<core::AcquireAnswer> MemoryWatch::Acquire(const std::string& daemon,
                                                         const core::AcquireRequest& request,
                                                         core::FencingToken seen, Instant sent) {
  absl::StatusOr<core::AcquireAnswer> answer = server_.Acquire(request, seen);
  const Try what = TryOf(request);
  const auto* const lease = answer.ok() ? std::get_if<core::Lease>(&*answer) : nullptr;
  if (lease == nullptr) {
    const int outcome = answer.ok() ? kHeld : OutcomeOf(answer.status());
    Carried(Operation::kAcquire, daemon, request.name, what.lease_id, outcome);
    return answer;
  }
  const Instant now = clock_.Now();
  const Instant end = now + lease->remaining_ttl;
  const bool known = std::exchange(tokens_[request.name], lease->token) == lease->token;
  Carried(Operation::kAcquire, daemon, request.name, what.lease_id, known ? kKnown : kGranted);
  Runs(request.name, end, request.lock_delay);
  if (known) {
    judge_.Repeated(what, request.attempt, now);
    return answer;
  }
  Turn turn;
  turn.to = what;
  turn.attempt = request.attempt;
  turn.token = lease->token.value;
  turn.end = end;
  turn.lock_delay = request.lock_delay;
  turn.max_hold = request.max_hold > core::Millis(0);
  turn.hold_at_least = request.hold_at_least;
  if (turn.hold_at_least > Micros(0)) coverage_.Ends(Edge::kHold, now + turn.hold_at_least);
  turn.given_by = daemon;
  turn.sent = sent;
  judge_.TurnGiven(std::move(turn), now);
  return answer;
}

absl::StatusOr<core::Lease> MemoryWatch::Extend(const std::string& daemon,
                                                const core::ExtendRequest& request) {
  absl::StatusOr<core::Lease> lease = server_.Extend(request);
  const std::string lease_id(request.lease_id.digits());
  const int outcome = lease.ok() ? kGranted : OutcomeOf(lease.status());
  Carried(Operation::kExtend, daemon, request.name, lease_id, outcome);
  if (!lease.ok()) return lease;
  const Instant end = clock_.Now() + lease->remaining_ttl;
  Runs(request.name, end, Micros(0));
  judge_.Extended(request.name, lease_id, end, clock_.Now());
  if (request.keeper) {
    judge_.Adopted({request.name, lease_id, std::string(request.keeper->digits())});
  }
  return lease;
}

core::ReleaseAnswer MemoryWatch::Release(const std::string& daemon,
                                         const core::ReleaseRequest& request) {
  const core::ReleaseAnswer answer = server_.Release(request);
  const std::string lease_id(request.lease_id.digits());
  const Instant now = clock_.Now();
  Carried(Operation::kRelease, daemon, request.name, lease_id,
          static_cast<int>(answer.not_released));
  if (answer.not_released == core::NotReleasedReason::kExpired) {
    judge_.ReleaseDenied(request.name, lease_id, now);
  }
  if (answer.not_released == core::NotReleasedReason::kNotHolder) {
    judge_.ReleaseDoubted(request.name, lease_id, now);
  }
  judge_.Released(request.name, lease_id, now);
  if (answer.released()) judge_.FreedOver(daemon, request.name, now);
  return answer;
}

core::WithdrawResult MemoryWatch::Withdraw(const std::string& daemon,
                                           const core::WithdrawRequest& request) {
  core::WithdrawResult result = server_.Withdraw(request);
  const Try what{request.name, std::string(request.lease_id.digits()),
                 std::string(request.keeper.digits())};
  Carried(Operation::kWithdraw, daemon, request.name, what.lease_id,
          static_cast<int>(result.kind) + kErrors * static_cast<int>(request.scope));
  switch (request.scope) {
    case core::WithdrawScope::kSetAside:  // There are no offers.
    case core::WithdrawScope::kPutBack:
    case core::WithdrawScope::kPassOver:
    case core::WithdrawScope::kLetClaimStand:
    case core::WithdrawScope::kClaim:
      break;
    case core::WithdrawScope::kRelease:
      if (result == core::WithdrawResult::kWithdrawn) judge_.ReleasedByEnd(what, clock_.Now());
      break;
    case core::WithdrawScope::kUnclaimedOnly:
    case core::WithdrawScope::kLeaseToo:
      if (result == core::WithdrawResult::kKept) {
        judge_.WithdrawalKept(what, clock_.Now());
      } else {
        judge_.Withdrawn(what, clock_.Now());
      }
      break;
  }
  return result;
}

core::FenceAnswer MemoryWatch::Fence(const std::string& daemon, const core::FenceRequest& request) {
  const core::FenceAnswer answer = server_.Fence(request);
  Carried(Operation::kFence, daemon, request.name, "", static_cast<int>(answer.verdict));
  judge_.Fenced(request.name, request.token.value, answer.verdict == core::Verdict::kAdmitted);
  return answer;
}

}  // namespace lockkeeper::simulation
