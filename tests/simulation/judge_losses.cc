// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of a store that has forgotten something, or may have.
#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "simulation/judge.h"
#include "simulation/judge_text.h"

namespace lockkeeper::simulation {
namespace {

// After a step forward by more than this, records may have been collected.
constexpr Micros kKeepsRecords{30'000'000};
// A step forward by more than this, no script accepts: the lifetime of a call, and what is never
// called a step.
constexpr Micros kUnseenMax{1'200'000};
// What may be drift is never called a step: docs/internals/clocks.md.
constexpr Micros kNeverAStep{50'000};
// A heartbeat is answered within this.
constexpr Micros kHeartbeatMax{10'000'000};
// How wrong daemons may be about a step of the clock: as slow as an answer can be.
constexpr Micros kStepUnknown{1'000'000};
// Waiters that have had the same number one after the other.
constexpr int64_t kSameNumberMax = 8;
// What a slewed clock makes of the longest time that matters.
constexpr Micros kSlewed{10'000};

}  // namespace

void Judge::StoreLost(Forgot forgot, Instant now, uint64_t misled) {
  losses_ += 1 + misled;
  losses_matter_until_ = now + kHeartbeatMax;
  for (auto& [name, lock] : locks_) {
    lock.doubted = true;
    lock.end_doubted = false;
    lock.ended.clear();
    if (forgot == Forgot::kNothing) continue;
    lock.forgotten = lock.line_from_before = true;
    lock.line.clear();
    lock.places_before.merge(lock.places);
    lock.places.clear();
    lock.released.clear();
    lock.found_void.clear();
    lock.refused.clear();
    lock.given_up.clear();
    lock.forgotten_ends.merge(lock.ends);
  }
}

void Judge::ClockSet(Micros by, Instant now) {
  for (auto& [name, lock] : locks_) {
    if (now >= lock.turn.end && by < Micros(0)) lock.over_before = true;
    lock.turn.end -= by;
    if (lock.hold_end != Instant::min()) lock.hold_end -= by;
  }
  clock_was_set_ = true;
  if (by > kNeverAStep) can_see_step_ = true;
  // A step back that nobody noticed does not make up for one forward after it: a lease from in
  // between ends early by the whole of that.
  clock_ahead_ = std::max(Micros(0), clock_ahead_ + by);
  if (by > Micros(0) && by <= kClockTold) clock_nudged_ += by;
  clock_behind_ = std::max(Micros(0), clock_behind_ - by);
  // A daemon that was away meanwhile, and finds no beat by the clock as it is, notices it again.
  constexpr uint64_t kLate = 1;
  StoreLost(by > kKeepsRecords ? Forgot::kSome : Forgot::kNothing, now, kLate);
}

bool Judge::ClockGivesTooEarly() const {
  return clock_ahead_ > Micros(0) && clock_ahead_ <= kUnseenMax;
}

// Of a lease that is given or extended now, by a clock that was set back, which only the answer
// could tell and did not: it was too slow. Nobody knows that it ends as much later than its proof
// says.
Micros Judge::ProofShort() const { return clock_behind_ <= kUnseenMax ? clock_behind_ : Micros(0); }

void Judge::ClockSlewed() { tolerance_ = kSlewed; }

void Judge::EpochBegan(Instant quarantine_end) {
  quarantine_end_ = quarantine_end;
  clock_ahead_ = clock_behind_ = clock_nudged_ = Micros(0);
  can_see_step_ = false;
  if (++epochs_ > losses_) Violation("a quarantine began although nothing was lost");
}

bool Judge::QuarantineIsNeedless(Instant now) const {
  if (now >= quarantine_end_) return false;
  return std::all_of(locks_.begin(), locks_.end(), [this, now](const auto& entry) {
    const Lock& lock = entry.second;
    if (now <= lock.outdone_until + tolerance_) return false;
    const bool unproved = lock.doubted || lock.forgotten || lock.epoch != epochs_;
    if (!unproved || lock.phase == Phase::kNone) return true;
    const Instant over = std::max<Instant>(lock.turn.end, lock.told_end) + lock.turn.lock_delay;
    return lock.believer < 0 && over + tolerance_ < now;
  });
}

// A waiter takes its place along to the line that comes after one that was lost.
void Judge::CheckPlaceBefore(Lock& lock, const Try& what, int64_t number) {
  const auto before = lock.places_before.extract(what.lease_id);
  if (before.empty() || before.mapped().keeper != what.keeper) return;
  if (HasAgain(lock, what.lease_id, number)) return;
  // Older data has brought back somebody who had its number, and had left.
  const int64_t behind = number - before.mapped().number;
  if (lock.line_from_before && behind > 0 && behind <= kSameNumberMax) return;
  Violation(what.lease_id.substr(0, 8) + " has another place in the new line of " + what.lock);
}

// Whoever did not stand in the line that was lost comes behind those who did, also if they have not
// come back yet.
void Judge::CheckBehindPlacesBefore(const Lock& lock, const Try& what, int64_t number) {
  const auto before = lock.places_before.find(what.lease_id);
  if (before != lock.places_before.end() && before->second.keeper == what.keeper) return;
  // A later attempt had taken its place over.
  if (lock.stood.contains({what.lease_id, what.keeper})) return;
  for (const auto& [other_id, other] : lock.places_before) {
    if (other_id == what.lease_id || other.number < number) continue;
    Violation(what.lease_id.substr(0, 8) + " joined the new line of " + what.lock + " before " +
              other_id.substr(0, 8) + ", which had stood in the lost one");
  }
}

void Judge::ReleaseDenied(const std::string& lock, const std::string& lease_id, Instant now) {
  Lock& state = locks_[lock];
  if (state.phase != Phase::kLease || state.turn.to.lease_id != lease_id || state.over_before ||
      now + tolerance_ >= EndOf(state)) {
    return;
  }
  if (ClockGivesTooEarly()) {
    if (can_see_step_) state.denied.insert(lease_id);  // Its daemon can, in the reply.
    return;
  }
  Violation("the release of " + lease_id.substr(0, 8) + " was told that it has not " + lock +
            ", but its lease runs");
}

void Judge::ToldExpired(const std::string& lock, const std::string& lease_id) {
  if (!locks_[lock].denied.contains(lease_id)) return;
  Violation(lease_id.substr(0, 8) + " was told that its lease of " + lock +
            " had expired before its release, but it ran: the clock was set");
}

void Judge::ReleaseDoubted(const std::string& lock, const std::string& lease_id, Instant now) {
  Lock& state = locks_[lock];
  if (state.phase != Phase::kLease || state.turn.to.lease_id != lease_id) return;
  state.end_doubted = !state.forgotten;
  if (state.epoch != epochs_ || state.doubted || now + tolerance_ >= EndOf(state)) return;
  Violation("the release of " + lease_id.substr(0, 8) + " was told that it does not hold " + lock +
            ", but its lease runs");
}

// A lease that is taken back brings along what is left of its hold_at_least.
void Judge::CheckHoldTakenBack(const Turn& turn, Instant hold_end, Instant now) {
  if (clock_was_set_) return;
  const Micros left = hold_end > now ? Between(now, hold_end) : Micros(0);
  if (left <= turn.hold_at_least + tolerance_ && turn.hold_at_least <= left + tolerance_) return;
  Violation(turn.to.lease_id.substr(0, 8) + " was given " + turn.to.lock + " back, closed for " +
            Seconds(turn.hold_at_least) + " by its hold_at_least, of which " + Seconds(left) +
            " are left");
}

// `deed`: what the store did with the lease.
void Judge::CheckWasGiven(const Lock& lock, const Turn& turn, const std::string& deed) {
  const auto given = lock.given.find(turn.token);
  if (given != lock.given.end() && given->second.lease_id == turn.to.lease_id) return;
  Violation(deed + ", which it never had");
}

void Judge::Reasserted(Turn turn, Instant now) {
  Lock& state = locks_[turn.to.lock];
  const std::string shown = turn.to.lease_id.substr(0, 8);
  const auto given = state.given.find(turn.token);
  CheckWasGiven(state, turn, shown + " was given " + turn.to.lock + " back");
  const auto released = state.released.find(turn.to.lease_id);
  if (released != state.released.end() && IsVoid(state, released->second, now)) {
    Violation(shown + " was given " + turn.to.lock + " back after it was released");
  }
  if (state.released_by.contains({turn.to.lease_id, turn.given_by})) {
    Violation(shown + " was given " + turn.to.lock + " back over the daemon that had released it");
  }
  if (state.turn.token > turn.token && !state.forgotten) {
    Violation(shown + " was given " + turn.to.lock + " back with the token " +
              std::to_string(turn.token) + " after " + std::to_string(state.turn.token));
  }
  const bool same = state.turn.token == turn.token;
  // What the holder was told last, or the beginning of the next turn. A release that the store has
  // forgotten only the daemon knows that made it.
  Instant over_at = same ? state.told_end : now;
  if (!same && given != state.given.end()) {
    const bool forgotten = state.forgotten_ends.contains(turn.to.lease_id);
    over_at = forgotten ? given->second.told_end : given->second.over_at;
  }
  if (given != state.given.end()) CheckHoldTakenBack(turn, given->second.hold_end, now);
  if (!same) state.given[state.turn.token].told_end = state.told_end;
  if (over_at != Instant() && over_at + tolerance_ + kStepUnknown < now) {
    Violation(shown + " was given " + turn.to.lock + " back after its lease had ended");
  }
  Leave(state, turn.to.lease_id, now);
  if (state.turn.token > turn.token) {
    const Instant end = std::max<Instant>(state.turn.end, state.told_end);
    state.outdone_until = std::max<Instant>(state.outdone_until, end + state.turn.lock_delay);
  }
  state.told_end = same ? std::max(state.told_end, turn.end) : turn.end;
  TakeBack(state, std::move(turn), now);
  state.only_restored = false;
}

void Judge::TakeBack(Lock& state, Turn turn, Instant now) {
  const bool is_back = state.phase == Phase::kLease && state.epoch == epochs_ &&
                       state.turn.token == turn.token && state.turn.end > now;
  // A session that had adopted it stays its keeper.
  if (is_back && turn.to.keeper.empty()) turn.to.keeper = state.turn.to.keeper;
  state.phase = Phase::kLease;
  state.turn = std::move(turn);
  state.turn.asserted = true;
  state.closed_by_ended_until = Instant::min();
  state.taken_over = true;
  state.over_before = state.end_doubted = state.doubted = state.forgotten = false;
  const Micros hold = state.turn.hold_at_least;
  state.hold_end = hold > Micros(0) ? now + hold : Instant::min();
  state.end_set_at = now;
  state.epoch = epochs_;
  state.proof_short = ProofShort();
}

// Its daemon may not have heard that the lease has ended, or of a newer one.
void Judge::Restored(Turn turn, bool runs, Instant now) {
  Lock& state = locks_[turn.to.lock];
  const std::string deed = turn.to.lease_id.substr(0, 8) + " has " + turn.to.lock + " restored";
  CheckWasGiven(state, turn, deed);
  if (runs && state.released_by.contains({turn.to.lease_id, turn.given_by})) {
    Violation(deed + " by the daemon that had released it");
  }
  if (now >= quarantine_end_ + tolerance_) {
    Violation(deed + " without a quarantine");
  }
  Leave(state, turn.to.lease_id, now);
  const bool has_ended = state.turn.token > turn.token ||
                         (state.turn.token == turn.token && state.phase != Phase::kLease);
  if (has_ended) {
    const Instant hold_end = now + turn.hold_at_least;
    const Instant closed_until = std::max<Instant>(turn.end + turn.lock_delay, hold_end);
    state.closed_by_ended_until = std::max(state.closed_by_ended_until, closed_until);
    state.ended_restored = turn.to.lease_id;
    return;
  }
  const bool is_proved = state.epoch == epochs_ && !state.doubted && !state.only_restored;
  if (state.turn.token < turn.token) {
    state.given[state.turn.token].told_end = state.told_end;
    state.told_end = turn.end;
  } else {
    turn.end = is_proved ? std::max(turn.end, state.turn.end) : turn.end;
    state.told_end = std::max(state.told_end, turn.end);
  }
  TakeBack(state, std::move(turn), now);
  state.only_restored = !is_proved;
}

// What was not restored then, nobody was told of, or its end.
void Judge::QuarantineEndedEarly(Instant now) {
  for (auto& [name, lock] : locks_) {
    const bool unproved = lock.doubted || lock.forgotten || lock.epoch != epochs_;
    if (!unproved || lock.phase == Phase::kNone) continue;
    if (lock.believer >= 0) {
      Violation("a quarantine ended early, but client " + std::to_string(lock.believer) +
                " believes in its lease of " + name + ", which was not restored");
    }
    lock.phase = Phase::kWithdrawn;
    lock.over_at = now;
  }
  QuarantineEnded(now);
}

}  // namespace lockkeeper::simulation
