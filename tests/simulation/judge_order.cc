// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of the order of waiters, of faults that excuse that somebody is overtaken,
// and of a lock that is free while somebody waits.
#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "simulation/judge.h"
#include "simulation/judge_text.h"

namespace lockkeeper::simulation {
namespace {

// A free lock is handed to a waiter in good order within this: the promise for expiry.
constexpr Micros kIdleMax{50'000};
// Within this every daemon hears of a lease's end before it comes: the poll. The end of a shorter
// lease may come as a surprise.
constexpr Micros kPollMax{1'050'000};
// A daemon that nobody can tell to be in order again after a fault is taken to be, after this: its
// mark has run out and it has polled.
constexpr Micros kSettling{6'000'000};

}  // namespace

void Judge::InPlace(const std::string& daemon, const std::string& lock, Instant now) {
  Lock& state = locks_[lock];
  StandAgain(state, daemon, now);
  const std::optional<Instant> disturbed = DisturbedUntil(state, daemon);
  if (!disturbed || now < *disturbed) return;
  Instant& since = state.in_place[daemon];
  if (since < *disturbed) since = now;
}

void Judge::Disturbed(const std::string& daemon, Instant until) {
  Instant& known = disturbed_until_[daemon];
  known = std::max(known, until);
}

// Until when a fault of the daemon, or what came of it at this lock, lasts.
std::optional<Instant> Judge::DisturbedUntil(const Lock& lock, const std::string& daemon) const {
  const auto disturbed = disturbed_until_.find(daemon);
  if (disturbed == disturbed_until_.end()) return std::nullopt;
  const auto stuck = lock.stuck_at.find(daemon);
  return stuck == lock.stuck_at.end() ? disturbed->second
                                      : std::max(disturbed->second, stuck->second);
}

// Since when the daemon's waiters in the line must not be overtaken. In the future, or at the end
// of time, while a fault or its consequences last.
Instant Judge::InOrderSince(const Lock& lock, const std::string& daemon) const {
  if (gone_.contains(daemon)) return Instant::max();
  const std::optional<Instant> disturbed = DisturbedUntil(lock, daemon);
  if (!disturbed) return Instant::min();
  const auto in_place = lock.in_place.find(daemon);
  if (in_place != lock.in_place.end() && in_place->second >= *disturbed) return in_place->second;
  return *disturbed + kSettling;
}

// A daemon that a fault kept from claiming an offer in time is passed over until it asks again,
// unless it is the one that found the offer lapsed.
void Judge::NoteStuck(Lock& lock, const Turn& next, Instant now) {
  if (lock.phase != Phase::kOffered || !lock.turn.daemon_claims || now < lock.turn.end) return;
  const std::string daemon = DaemonOf(lock.turn.to.keeper);
  const auto disturbed = disturbed_until_.find(daemon);
  if (daemon == next.given_by || disturbed == disturbed_until_.end()) return;
  if (lock.turn.end < disturbed->second + kIdleMax) lock.stuck_at[daemon] = now;
}

// Who missed an offer and still waits at `daemon` is in its place again.
void Judge::StandAgain(Lock& lock, const std::string& daemon, Instant now) {
  const bool has_turn =
      (lock.phase == Phase::kOffered || lock.phase == Phase::kLease) && now < lock.turn.end;
  for (const auto& [lease_id, place] : lock.places) {
    if (DaemonOf(place.keeper) != daemon || lock.answered.contains(place.keeper)) continue;
    if (place.passed_over_at || (has_turn && lock.turn.to.lease_id == lease_id)) continue;
    lock.line.try_emplace(lease_id, Waiter{place.number, place.keeper, now});
  }
}

void Judge::CheckOrder(const Lock& lock, const Turn& turn, Instant now) {
  const auto own = lock.places.find(turn.to.lease_id);
  // Older data bring waiters back that are gone: their offers lapse, at the cost of others.
  if (lock.line_from_before) return;
  for (const auto& [other_id, other] : lock.line) {
    if (other_id == turn.to.lease_id) continue;
    if (own != lock.places.end() && other.number > own->second.number) continue;
    if (now < InOrderSince(lock, DaemonOf(other.keeper))) continue;
    Violation(Shown(turn.to.lease_id) + " was given " + turn.to.lock + " before " +
              Shown(other_id) + ", which had come before");
  }
}

// Whoever gets an offer has to be able to hear of it.
void Judge::CheckReceiver(const Turn& turn) {
  const std::string daemon = DaemonOf(turn.to.keeper);
  if (turn.offered && gone_.contains(daemon) && turn.given_by != daemon) {
    Violation(turn.to.lock + " was offered to " + Shown(turn.to.lease_id) +
              ", whose daemon is gone");
  }
}

// When all daemons know how long the turn lasts at most.
Instant Judge::EndKnownSince(const Lock& lock) const {
  const bool runs_out =
      lock.phase == Phase::kLease || lock.phase == Phase::kOffered || MayHaveExpired(lock);
  if (IsClosedByHold(lock)) return lock.over_at + kPollMax;
  return runs_out ? lock.end_set_at + kPollMax : Instant::min();
}

void Judge::CheckIdle(const Lock& lock, const std::string& lease_id, const Waiter& waiter,
                      Instant now) {
  Instant since = std::max({FreeSince(lock), lock.closed_by_ended_until, EndKnownSince(lock),
                            quarantine_end_ + kPollMax, waiter.since,
                            InOrderSince(lock, DaemonOf(waiter.keeper))});
  if (lock.doubted || MayHaveExpired(lock)) {
    since = std::max<Instant>(since, lock.turn.end + lock.turn.lock_delay);
  }
  since = std::max({since, LatestHoldEnd(lock), lock.put_back_at + kPollMax});
  if (now <= since || now - since <= kIdleMax) return;
  Violation("the lock was free for " + Seconds(Between(since, now)) + " while " + Shown(lease_id) +
            " stood in line");
}

}  // namespace lockkeeper::simulation
