// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of a failover: the promoted server may lack what the one before had done,
// and lacks what that one does from then on.
#include <algorithm>
#include <string>
#include <utility>

#include "simulation/judge.h"
#include "simulation/judge_text.h"

namespace lockkeeper::simulation {
namespace {

// An answer may hide a difference of the clocks that is not larger: as slow as an answer can be.
constexpr Micros kHiddenMax{1'200'000};

}  // namespace

void Judge::Promoted(Micros clock_ahead, Instant now, Instant used_until, uint64_t misled) {
  epochs_before_ = epochs_;
  before_used_until_ = used_until;
  if (clock_ahead != Micros(0)) clock_was_set_ = true;  // Nobody knows by how much.
  for (auto& [name, lock] : locks_) {
    lock.taken_over = false;
    if (clock_ahead > Micros(0) && clock_ahead <= kHiddenMax) {
      lock.proof_short = std::max(lock.proof_short, clock_ahead);
    }
  }
  StoreLost(Forgot::kSome, now, misled);
}

void Judge::ProofRefused(const std::string& lock, Instant now) {
  if (now >= isolated_until_) {
    Violation("the holder of " + lock + " could not have it back in a quarantine");
  }
}

void Judge::ServerBefore::Joined(const Try& what, int64_t number, Instant now) {
  Lock& lock = judge_.locks_[what.lock];
  lock.places_before[what.lease_id] = {number, what.keeper, now};
  lock.stood.emplace(what.lease_id, what.keeper);
  lock.numbers.emplace(what.lease_id, number);
  lock.line_from_before = true;
}

void Judge::ServerBefore::LeftLine(const std::string& lock, const std::string& lease_id, Instant) {
  judge_.locks_[lock].places_before.erase(lease_id);
}

void Judge::ServerBefore::TurnGiven(Turn turn, Instant now) {
  if (now >= judge_.before_used_until_) return;
  Lock& lock = judge_.locks_[turn.to.lock];
  if (turn.token <= lock.token) {
    judge_.Violation("the server before gave " + turn.to.lock + " the token " +
                     std::to_string(turn.token) + " after " + std::to_string(lock.token));
  }
  if (!turn.offered) lock.places_before.erase(turn.to.lease_id);
  // Proved to the promoted server: that counts.
  if (lock.taken_over && lock.phase == Phase::kLease && lock.turn.asserted) {
    lock.given[turn.token] = {.lease_id = turn.to.lease_id, .told_end = turn.end};
    lock.token = turn.token;
    return;
  }
  const Instant closed_until = lock.closed_by_ended_until;  // At the promoted server.
  judge_.BeginTurn(lock, std::move(turn), now, Instant::min());
  lock.closed_by_ended_until = closed_until;
  lock.given[lock.turn.token].previous_expired.reset();
  lock.doubted = lock.forgotten = true;
  lock.epoch = judge_.epochs_before_;
  lock.taken_over = false;
}

void Judge::ServerBefore::Repeated(const Try& what, int32_t attempt, Instant) {
  Lock& lock = judge_.locks_[what.lock];
  Turn& turn = lock.turn;
  if (lock.taken_over || turn.to.lease_id != what.lease_id || turn.asserted) return;
  lock.told_before = false;
  if (attempt > turn.attempt) {
    turn.to.keeper = what.keeper;
  } else if (attempt == turn.attempt && turn.to.keeper != what.keeper) {
    turn.to.keeper.clear();
  }
  turn.attempt = std::max(turn.attempt, attempt);
}

void Judge::ServerBefore::Extended(const std::string& lock, const std::string& lease_id,
                                   Instant end, Instant now) {
  Lock& state = judge_.locks_[lock];
  state.places_before.erase(lease_id);
  if (now >= judge_.before_used_until_) return;
  if (state.taken_over || state.turn.to.lease_id != lease_id) {
    // It was given while the promoted server had another lease taken back.
    for (auto& [token, given] : state.given) {
      if (given.lease_id == lease_id) given.told_end = std::max(given.told_end, end);
    }
    return;
  }
  if (state.phase == Phase::kOffered) {
    state.phase = Phase::kLease;
    state.told_end = end;
    judge_.HoldBegins(state, now);
  }
  if (state.phase != Phase::kLease) return;
  state.turn.end = end;
  state.end_set_at = now;
  state.told_end = std::max(state.told_end, end);
}

void Judge::ServerBefore::Reasserted(Turn turn, Instant now) {
  Lock& lock = judge_.locks_[turn.to.lock];
  lock.places_before.erase(turn.to.lease_id);
  if (lock.taken_over) return;
  const bool same = lock.turn.token == turn.token;
  if (!same) lock.given[lock.turn.token].told_end = lock.told_end;
  lock.told_end = same ? std::max(lock.told_end, turn.end) : turn.end;
  lock.phase = Phase::kLease;
  lock.turn = std::move(turn);
  lock.turn.asserted = true;
  lock.end_set_at = now;
  lock.doubted = lock.forgotten = true;
  lock.epoch = judge_.epochs_before_;
}

void Judge::ServerBefore::Fenced(const std::string& lock, int64_t token, bool admitted) {
  const Lock& state = judge_.locks_[lock];
  if (!admitted || state.taken_over || token == state.turn.token) return;
  judge_.Violation("token " + std::to_string(token) + " of " + lock +
                   " was admitted by the server before, the newest is " +
                   std::to_string(state.turn.token));
}

void Judge::ServerBefore::Released(const std::string& lock, const std::string& lease_id,
                                   Instant now) {
  Lock& state = judge_.locks_[lock];
  state.forgotten_ends.insert(lease_id);
  state.places_before.erase(lease_id);
  if (state.taken_over || state.turn.to.lease_id != lease_id) return;
  if (state.phase != Phase::kLease && state.phase != Phase::kOffered) return;
  if (now >= std::max(state.told_end, state.turn.end)) return;
  state.phase = state.phase == Phase::kLease ? Phase::kReleased : Phase::kWithdrawn;
  state.over_at = now;
}

void Judge::ServerBefore::ReleasedByEnd(const Try& what, Instant now) {
  const Lock& lock = judge_.locks_[what.lock];
  if (!lock.taken_over && lock.turn.to.lease_id == what.lease_id &&
      lock.turn.to.keeper != what.keeper) {
    judge_.Violation("the end of a session released " + what.lock + " of " + Shown(what.lease_id) +
                     ", which another one keeps");
  }
  Released(what.lock, what.lease_id, now);
}

void Judge::ServerBefore::ReleaseDenied(const std::string& lock, const std::string& lease_id,
                                        Instant now) {
  if (!judge_.locks_[lock].taken_over) judge_.ReleaseDenied(lock, lease_id, now);
}

void Judge::ServerBefore::Withdrawn(const Try& what, Instant now) {
  Lock& lock = judge_.locks_[what.lock];
  lock.forgotten_ends.insert(what.keeper);
  LeavePlaceBefore(lock, what);
  if (lock.taken_over || lock.turn.to.lease_id != what.lease_id ||
      lock.turn.to.keeper != what.keeper) {
    return;
  }
  if (lock.phase != Phase::kLease && lock.phase != Phase::kOffered) return;
  lock.over_at = now;
  lock.phase = Phase::kWithdrawn;
}

void Judge::ServerBefore::WithdrawalKept(const Try& what, Instant) {
  LeavePlaceBefore(judge_.locks_[what.lock], what);
}

void Judge::ServerBefore::ClaimWithdrawn(const Try& what, Instant now) {
  Lock& lock = judge_.locks_[what.lock];
  lock.forgotten_ends.insert(lock.turn.to.keeper);
  if (lock.taken_over || lock.turn.to.lease_id != what.lease_id) return;
  if (lock.phase != Phase::kLease) return;
  lock.over_at = now;
  lock.phase = Phase::kWithdrawn;
}

void Judge::ServerBefore::EndOffer(const Try& what, Instant now) {
  Lock& lock = judge_.locks_[what.lock];
  if (lock.taken_over || lock.turn.to.lease_id != what.lease_id) return;
  if (lock.phase != Phase::kOffered) return;
  lock.over_at = std::min(now, lock.turn.end);
  lock.turn.end = lock.over_at;
  lock.phase = Phase::kWithdrawn;
}

}  // namespace lockkeeper::simulation
