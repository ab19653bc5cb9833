// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of sessions.
#include <algorithm>
#include <chrono>
#include <string>

#include "simulation/judge.h"

namespace lockkeeper::simulation {
namespace {

// Nobody has reason to extend a lease so often in so short a time.
constexpr core::Millis kExtendsCountedFor{100};
constexpr int kExtendsMax = 20;

std::string Millis(Instant from, Instant to) {
  return std::to_string(std::chrono::duration_cast<core::Millis>(to - from).count()) + " ms";
}

}  // namespace

void Judge::Adopted(const Try& what) {
  Turn& turn = locks_[what.lock].turn;
  if (turn.to.lease_id != what.lease_id) return;
  turn.to.keeper = what.keeper;
  turn.asserted = true;
}

void Judge::ReleasedByEnd(const Try& what, Instant now) {
  const Turn& turn = locks_[what.lock].turn;
  if (turn.to.lease_id == what.lease_id && turn.to.keeper != what.keeper) {
    Violation("the end of a session released " + what.lock + " of " + what.lease_id.substr(0, 8) +
              ", which another one keeps");
  }
  Released(what.lock, what.lease_id, now);
}

// When the lease with this token was over, or will be by itself.
Instant Judge::OverAt(const Lock& lock, int64_t token) const {
  if (token != lock.turn.token) {
    const auto given = lock.given.find(token);
    return given == lock.given.end() ? Instant::min() : given->second.over_at;
  }
  const bool ended = lock.phase == Phase::kReleased || lock.phase == Phase::kWithdrawn;
  return ended ? lock.over_at : lock.turn.end;
}

void Judge::Assured(const std::string& lock, int64_t token, Instant until, Instant now) {
  const Instant over_at = OverAt(locks_[lock], token);
  if (over_at + tolerance_ >= until || now < losses_matter_until_) return;
  Violation("the answer of a heartbeat did not name the lease of " + lock + " with token " +
            std::to_string(token) + ", which was over " + Millis(over_at, until) +
            " before it could be" + (over_at <= now ? "" : ", but runs"));
}

void Judge::ToldLost(const std::string& lock, int64_t token, Instant proved_until, Instant now) {
  const Lock& state = locks_[lock];
  if (state.turn.token != token || state.phase != Phase::kLease || now >= EndOf(state)) return;
  if (state.over_before) return;
  // It was not told of its last extends when it asked, so it had no proof of them either. Meanwhile
  // another call of it, with a proof of them, may have got the lease back.
  if ((state.doubted || now < losses_matter_until_) && now >= proved_until) return;
  if (state.epoch != epochs_ && now >= EndOf(state) - state.proof_short) return;
  Violation("a client was told that its lease of " + lock + " with token " + std::to_string(token) +
            " is lost, but it runs");
}

void Judge::CheckHowOften(Lock& lock, const std::string& lease_id, Instant now) {
  if (now - lock.extends_from > kExtendsCountedFor) {
    lock.extends_from = now;
    lock.extends = 0;
  }
  if (++lock.extends != kExtendsMax + 1) return;
  Violation(lease_id.substr(0, 8) + " was extended again and again");
}

void Judge::Cancelled(const Try& what, Instant now) {
  locks_[what.lock].cancelled.emplace(what.keeper, now);
}

void Judge::CheckCancelled(const Lock& lock, const Try& what, Instant now) {
  const auto cancelled = lock.cancelled.find(what.keeper);
  if (cancelled == lock.cancelled.end() || now <= DoneBy(what.keeper, cancelled->second)) return;
  Violation(what.lease_id.substr(0, 8) + " waited for " + what.lock + " " +
            Millis(cancelled->second, now) + " after it was cancelled");
}

}  // namespace lockkeeper::simulation
