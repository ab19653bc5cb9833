// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of offers that nobody wanted.
#include <algorithm>

#include "simulation/judge.h"
#include "simulation/judge_text.h"

namespace lockkeeper::simulation {

void Judge::Declined(const Try& what) {
  Lock& state = locks_[what.lock];
  if (!state.answered.contains(what.keeper)) state.declined.insert(what.keeper);
}

void Judge::Settled(const Try& what) {
  if (!locks_[what.lock].declined.contains(what.keeper)) return;
  Violation("an offer of " + what.lock + " to " + what.lease_id.substr(0, 8) +
            " was declined while it waited");
}

void Judge::SetAside(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  if (state.turn.to.lease_id != what.lease_id || state.phase != Phase::kOffered) return;
  if (!state.answered.contains(what.keeper)) {
    Violation("the place of " + Shown(what.lease_id) + " in the line of " + what.lock +
              " was set aside while it waited");
  }
  CheckTurnOfTold(state, now);
  if (const auto place = state.places.find(what.lease_id); place != state.places.end()) {
    place->second.kept_until = now + kPlaceKept;
  }
  state.turn.end = std::min(state.turn.end, now);
}

// It stands again after a while, once its daemon can reach the store.
void Judge::CheckPassedOver(const Lock& lock, const std::string& lease_id, const Place& place,
                            Instant now) {
  constexpr Micros kPassedOverMax{5'000'000};
  const std::string daemon = DaemonOf(place.keeper);
  if (!place.passed_over_at || lock.answered.contains(place.keeper) || gone_.contains(daemon))
    return;
  const Instant since =
      std::max(*place.passed_over_at, DisturbedUntil(lock, daemon).value_or(Instant::min()));
  if (now < since + kPassedOverMax || now < quarantine_end_) return;
  Violation(Shown(lease_id) + " was passed over and has not stood in the line again");
}

// A grant that is told as an offer was confirmed by then, and its claim is an extend.
void Judge::OfferTold(const Try& what) {
  Lock& state = locks_[what.lock];
  if (state.turn.to.lease_id == what.lease_id && state.phase == Phase::kLease) return;
  state.claims[what.lease_id] = {.asked = std::max(what.min_assurance, min_assurance_)};
}

void Judge::ClaimTried(const std::string& lock, const std::string& lease_id) {
  auto& claims = locks_[lock].claims;
  if (const auto claim = claims.find(lease_id); claim != claims.end()) ++claim->second.tries;
}

// A third try may follow on a claim and an extend whose clients were told nothing.
void Judge::LeaseTold(const core::Lease& lease) {
  constexpr int kTriesConfirmed = 2;
  const auto claim = locks_[lease.name].claims.extract(std::string(lease.lease_id.digits()));
  if (claim.empty() || claim.mapped().tries > kTriesConfirmed) return;
  if (lease.assurance >= claim.mapped().asked) return;
  Violation(Shown(claim.key()) + " was told that it has claimed " + lease.name +
            ", of which too little is confirmed");
}

// Whether it is the last offer that the store ends unclaimed. Its client must not know of it.
bool Judge::EndsUntold(const Lock& lock, const Try& what, const std::string& how) {
  if (lock.turn.to.lease_id != what.lease_id || lock.phase != Phase::kOffered) return false;
  if (lock.delivered.contains(what.keeper)) {
    Violation("an offer of " + what.lock + " to " + Shown(what.lease_id) +
              ", which knows of it, was " + how);
  }
  return true;
}

void Judge::PassedOver(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  if (!EndsUntold(state, what, "passed over")) return;
  state.turn.end = std::min(state.turn.end, now);
  state.line.erase(what.lease_id);
  if (const auto place = state.places.find(what.lease_id); place != state.places.end()) {
    place->second.passed_over_at = now;
  }
}

void Judge::PutBack(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  if (!EndsUntold(state, what, "put back")) return;
  state.phase = Phase::kWithdrawn;
  state.over_at = std::min(now, state.turn.end);
  state.turn.end = state.over_at;
  state.put_back_at = now;
  const auto place = state.places.find(what.lease_id);
  if (place == state.places.end() || state.answered.contains(place->second.keeper)) return;
  state.line[what.lease_id] = {place->second.number, place->second.keeper, now};
}

void Judge::ClaimWithdrawn(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  ++state.void_entries;
  state.ends.insert(state.turn.to.keeper);
  if (state.turn.to.lease_id != what.lease_id || state.forgotten || state.end_doubted) return;
  if (state.phase != Phase::kLease) return;
  for (const auto& [when, token] : state.heard_of) {
    if (token == state.turn.token && when >= state.end_set_at) {
      Violation(what.lock + " was taken back from " + Shown(what.lease_id) +
                ", which knows that it has claimed it");
    }
  }
  state.over_at = std::min(now, FreeSince(state));
  state.phase = Phase::kWithdrawn;
}

// A client that has not claimed an offer may be dead. Another one must not cost the others a second
// time what the first one did.
void Judge::CheckTurnOfTold(Lock& lock, Instant now) {
  if (!lock.told_before || lock.doubted || lock.phase != Phase::kOffered) return;
  const Instant end = std::min(now, lock.turn.end);
  if (end <= DoneBy(lock.turn.to.keeper, lock.end_set_at)) return;
  lock.told_before = false;
  Violation(Shown(lock.turn.to.lease_id) + " was offered " + lock.turn.to.lock + " for " +
            Seconds(Between(lock.end_set_at, end)) + " after it had not claimed another offer");
}

}  // namespace lockkeeper::simulation
