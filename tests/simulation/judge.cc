// SPDX-License-Identifier: Apache-2.0
#include "simulation/judge.h"

#include <algorithm>
#include <utility>

#include "simulation/judge_text.h"

namespace lockkeeper::simulation {
namespace {

// What an acquire that was given up gets is taken back within this; and if that failed, within
// this after its daemon is in order: the longest pause between two tries, and half of it.
constexpr Micros kLeavingMax{50'000};
constexpr Micros kTryingAgainMax{1'500'000};
// What the void list of a record holds for certain, if all were withdrawn (scripts/record.lua has
// one more).
constexpr uint64_t kVoidsKept = 3;

}  // namespace

// --- what clients hear and believe

void Judge::Granted(const std::string& lock, int64_t token, bool previous_expired, Instant asked,
                    Instant now) {
  ++grants_;
  Lock& state = locks_[lock];
  // Tokens rise over grants that do not overlap: all that were heard of before this one was asked
  // for have to be lower.
  const auto later = std::upper_bound(
      state.heard_of.begin(), state.heard_of.end(), asked,
      [](Instant time, const std::pair<Instant, int64_t>& entry) { return time < entry.first; });
  if (later != state.heard_of.begin() && std::prev(later)->second >= token) {
    Violation("token " + std::to_string(token) + " of " + lock + " is not above " +
              std::to_string(std::prev(later)->second) + ", which was granted before");
  }
  const int64_t highest = state.heard_of.empty() ? 0 : state.heard_of.back().second;
  state.heard_of.emplace_back(now, std::max(highest, token));

  const auto given = state.given.find(token);
  if (given == state.given.end()) {
    Violation("token " + std::to_string(token) + " of " + lock + " was never given by the store");
    return;
  }
  if (now + kClockTold < given->second.not_before) {
    Violation("a client was told that it has " + lock + ", with token " + std::to_string(token) +
              ", " + Seconds(Between(now, given->second.not_before)) +
              " before the lease before it was over: a wrong clock had given it");
  }
  const std::optional<bool>& expected = given->second.previous_expired;
  if (expected && *expected != previous_expired) {
    Violation("a client was told that the lease of " + lock + " before " + std::to_string(token) +
              (previous_expired ? " had expired, but it had not" : " had not expired, but it had"));
  }
}

void Judge::BeliefBegan(const std::string& lock, int client, int64_t token) {
  Lock& state = locks_[lock];
  if (state.believer >= 0) {
    Violation("clients " + std::to_string(state.believer) + " and " + std::to_string(client) +
              " hold " + lock + " at the same time, tokens " + std::to_string(state.belief_token) +
              " and " + std::to_string(token));
  }
  state.believer = client;
  state.belief_token = token;
}

void Judge::BeliefEnded(const std::string& lock, int client, int64_t token) {
  Lock& state = locks_[lock];
  if (state.believer == client && state.belief_token == token) state.believer = -1;
}

void Judge::CallAnswered(uint64_t call) {
  const auto found = calls_.find(call);
  if (found == calls_.end()) return;
  if (++found->second > 1) Violation("call " + std::to_string(call) + " was answered twice");
}

// --- what daemons say

void Judge::Refused(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  const auto waiter = state.line.find(what.lease_id);
  if (waiter != state.line.end() && waiter->second.keeper == what.keeper) {
    Violation(Shown(what.lease_id) + " was told that it has not got " + what.lock +
              ", but still stands in line");
  }
  // An offer that the store has forgotten was taken from its waiter.
  const bool runs = (state.phase == Phase::kLease || state.phase == Phase::kOffered) &&
                    now < state.turn.end && !state.forgotten;
  if (runs && state.turn.to.lease_id == what.lease_id && state.turn.to.keeper == what.keeper) {
    Violation(Shown(what.lease_id) + " was told that it has not got " + what.lock + ", but it has");
  }
  // What made that so may be forgotten by now: then older data may have its place in line.
  if (state.forgotten_ends.contains(what.lease_id) || state.forgotten_ends.contains(what.keeper)) {
    return;
  }
  state.refused[what.keeper] = {now, state.void_entries};
}

void Judge::FoundVoid(const std::string& lock, const std::string& lease_id, Instant now) {
  Lock& state = locks_[lock];
  const auto [found, is_new] = state.found_void.try_emplace(lease_id);
  const auto released = state.released.find(lease_id);
  if (!is_new && IsVoid(state, found->second, now)) return;
  // Else a repeat of which nothing is known: that made it void.
  found->second = released != state.released.end() && IsVoid(state, released->second, now)
                      ? released->second
                      : Void{now, ++state.void_entries};
}

void Judge::Delivered(const Try& what) { locks_[what.lock].delivered.insert(what.keeper); }

void Judge::Drained(const Try& what) { locks_[what.lock].drained.insert(what.keeper); }

void Judge::Answered(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  state.answered.insert(what.keeper);
  CheckCancelled(state, what, now);
  const auto waiter = state.line.find(what.lease_id);
  if (waiter == state.line.end() || waiter->second.keeper != what.keeper) return;
  CheckIdle(state, what.lease_id, waiter->second, now);
  state.line.erase(waiter);
}

void Judge::GivenUp(const Try& what, Instant now) {
  locks_[what.lock].given_up.emplace(what.keeper, now);
}

// --- what the store did

// Whether this lease id comes with the number that it had. Its daemon takes a line that ended while
// it did not hear of its turn, or of the release, for one that was lost; or older data have it.
bool Judge::HasAgain(const Lock& lock, const std::string& lease_id, int64_t number) const {
  return lock.numbers.contains({lease_id, number});
}

void Judge::Joined(const Try& what, int64_t number, Instant now) {
  Lock& state = locks_[what.lock];
  CheckVoid(state, what, "was let into the line of", now);
  LetStandInQuarantine(state, what.lease_id, now);
  const auto known = state.places.find(what.lease_id);
  const auto standing = state.line.find(what.lease_id);
  const bool recent = standing == state.line.end() || now - standing->second.since < kPlaceKept;
  const bool kept = known != state.places.end() && now < known->second.kept_until;
  if (kept && known->second.number != number && recent) {
    Violation(Shown(what.lease_id) + " lost its place in the line of " + what.lock);
  }
  if (known != state.places.end()) {
    CheckPlaceOfGivenUp(state, what.lease_id, known->second, now);
  } else if (!HasAgain(state, what.lease_id, number)) {
    for (const auto& [other_id, other] : state.line) {
      if (other.number < number || state.line_from_before) continue;
      Violation(Shown(what.lease_id) + " joined the line of " + what.lock + " before " +
                Shown(other_id) + ", which had come before");
    }
    CheckBehindPlacesBefore(state, what, number);
  }
  CheckPlaceBefore(state, what, number);
  state.stood.emplace(what.lease_id, what.keeper);
  state.places[what.lease_id] = {number, what.keeper, now};
  state.numbers.emplace(what.lease_id, number);
  state.line[what.lease_id] = {number, what.keeper, now};
}

void Judge::TurnGiven(Turn turn, Instant now) {
  Lock& state = locks_[turn.to.lock];
  if (turn.token <= state.token) {
    Violation("the store gave " + turn.to.lock + " the token " + std::to_string(turn.token) +
              " after " + std::to_string(state.token));
  }
  // By a clock that was set, which only the answer tells: nobody may hear of it.
  const Micros early = tolerance_ + (ClockGivesTooEarly() ? clock_ahead_ : Micros(0));
  if (now + early < quarantine_end_) {
    Violation(Shown(turn.to.lease_id) + " was given " + turn.to.lock + " in a quarantine, " +
              Seconds(Between(now, quarantine_end_)) + " before its end");
  }
  const Micros untold = std::max(clock_nudged_ - kClockTold, Micros(0));
  const Instant not_before =
      ClockGivesTooEarly() ? std::max(FreeSince(state), quarantine_end_) - untold : Instant::min();
  if (now + early < FreeSince(state)) {
    Violation(Shown(turn.to.lease_id) + " was given " + turn.to.lock + " " +
              Seconds(Between(now, FreeSince(state))) + " before the turn of " +
              Shown(state.turn.to.lease_id) + " was over");
  }
  CheckTurnOfGivenUp(state, now);
  CheckTurnOfTold(state, now);
  CheckVoid(state, turn.to, "was given", now);
  CheckRepeat(state, turn, now);
  NoteStuck(state, turn, now);
  CheckOrder(state, turn, now);
  CheckReceiver(turn);
  CheckLocalOrder(state, turn);
  for (const auto& [daemon, line] : state.local_lines) CheckLocalIdle(state, daemon, line, now);
  for (const auto& [lease_id, place] : state.places) {
    CheckPlaceOfGivenUp(state, lease_id, place, now);
    CheckPassedOver(state, lease_id, place, now);
  }
  for (const auto& [lease_id, waiter] : state.line) CheckIdle(state, lease_id, waiter, now);

  // It has had its turn. If it does not use it, its daemon has to put it back in its place.
  state.line.erase(turn.to.lease_id);
  if (const auto place = state.places.find(turn.to.lease_id); place != state.places.end()) {
    place->second.passed_over_at.reset();
  }
  const auto place = state.places.find(turn.to.lease_id);
  if (place != state.places.end() && place->second.keeper != turn.to.keeper) {
    // A later call of its client waits there now, and has got the offer at once.
    place->second.keeper = turn.to.keeper;
    place->second.since = now;
  }
  if (!turn.offered) state.places.erase(turn.to.lease_id);
  BeginTurn(state, std::move(turn), now, not_before);
  state.taken_over = true;
  ++state.void_entries;
}

void Judge::BeginTurn(Lock& state, Turn turn, Instant now, Instant not_before) {
  state.given[state.turn.token].over_at = OverAt(state, state.turn.token);
  state.given[state.turn.token].told_end = state.told_end;
  state.previous_expired = PreviousExpired(state, now);
  state.given[turn.token] = {.lease_id = turn.to.lease_id,
                             .previous_expired = state.previous_expired,
                             .over_at = {},
                             .told_end = {},
                             .not_before = not_before};
  state.token = std::max(state.token, turn.token);
  state.phase = turn.offered ? Phase::kOffered : Phase::kLease;
  state.turn = std::move(turn);
  state.told_before = state.turn.offered && state.delivered.contains(state.turn.to.keeper);
  state.freed_over.clear();
  state.over_before = state.end_doubted = false;
  state.end_set_at = now;
  state.told_end = state.turn.end;
  state.epoch = epochs_;
  state.proof_short = ProofShort();
  state.doubted = state.forgotten = false;
  state.extends = 0;
  state.only_restored = false;
  state.closed_by_ended_until = Instant::min();
  HoldBegins(state, now);
}

void Judge::Repeated(const Try& what, int32_t attempt, Instant now) {
  Lock& state = locks_[what.lock];
  Turn& turn = state.turn;
  if (turn.to.lease_id != what.lease_id || turn.asserted) return;
  CheckTurnOfGivenUp(state, now);
  const auto place = state.places.find(what.lease_id);
  if (place != state.places.end() && attempt >= turn.attempt) {
    // If its offer lapses, the newest call waits.
    CheckPlaceOfGivenUp(state, what.lease_id, place->second, now);
    CheckPassedOver(state, what.lease_id, place->second, now);
    place->second.keeper = what.keeper;
    place->second.since = now;
    place->second.passed_over_at.reset();
  }
  state.told_before = false;
  if (attempt > turn.attempt) {
    turn.to.keeper = what.keeper;
  } else if (attempt == turn.attempt && turn.to.keeper != what.keeper) {
    turn.to.keeper.clear();  // Nobody may withdraw it.
  }
  turn.attempt = std::max(turn.attempt, attempt);
}

void Judge::Extended(const std::string& lock, const std::string& lease_id, Instant end,
                     Instant now) {
  Lock& state = locks_[lock];
  const bool own = state.turn.to.lease_id == lease_id &&
                   (state.phase == Phase::kLease || state.phase == Phase::kOffered);
  if (!own && state.ended_restored == lease_id && now < state.closed_by_ended_until) {
    state.closed_by_ended_until = end + state.turn.lock_delay;  // A late call of its client.
    return;
  }
  if (!own || now >= state.turn.end + tolerance_) {
    Violation(Shown(lease_id) + " extended a lease of " + lock + " that it does not have");
    return;
  }
  if (state.epoch != epochs_ || state.forgotten) {
    Violation(Shown(lease_id) + " extended a lease of " + lock + " without a proof");
  }
  if (std::exchange(state.only_restored, false) && now + tolerance_ < quarantine_end_) {
    Violation(Shown(lease_id) + " extended a lease of " + lock + " that was only restored");
  }
  CheckHowOften(state, lease_id, now);
  if (state.phase == Phase::kLease && end + tolerance_ < state.turn.end) {
    Violation("an extend shortened the lease of " + Shown(lease_id));
  }
  if (state.phase == Phase::kOffered) {
    state.phase = Phase::kLease;
    state.told_end = end;  // An offer's end was told to nobody.
    HoldBegins(state, now);
    Leave(state, lease_id, now);
  }
  state.turn.end = end;
  state.end_set_at = now;
  state.proof_short = ProofShort();
  state.told_end = std::max(state.told_end, end);
}

void Judge::Released(const std::string& lock, const std::string& lease_id, Instant now) {
  Lock& state = locks_[lock];
  CheckTurnOfGivenUp(state, now);
  Leave(state, lease_id, now);
  state.places_before.erase(lease_id);
  const bool has_it = state.phase == Phase::kLease && state.turn.to.lease_id == lease_id;
  const auto before = state.found_void.find(lease_id);
  // The release of one that was void before leaves the void list as it is; and so does a repeat,
  // whose record is kept for less after a step of the clock.
  if (!has_it && before != state.found_void.end()) {
    state.released.insert(*before);
  } else if (has_it || !state.forgotten_ends.contains(lease_id)) {
    state.released.try_emplace(lease_id, Void{now, ++state.void_entries});
  }
  state.ended.emplace(lease_id, now);
  state.ends.insert(lease_id);
  // In time by the node's clock, or by what its holder was told: a clock that was set parts them.
  const Instant end = std::max(EndOf(state), state.turn.end);
  if (state.turn.to.lease_id != lease_id || now >= end + tolerance_) return;
  if (state.phase == Phase::kLease || state.phase == Phase::kOffered) {
    state.phase = state.phase == Phase::kLease ? Phase::kReleased : Phase::kWithdrawn;
    state.over_at = now;
    state.taken_over = true;
  }
}

void Judge::Withdrawn(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  const auto waiter = state.line.find(what.lease_id);
  if (waiter != state.line.end() && waiter->second.keeper != what.keeper) {
    Violation("a place of " + Shown(what.lease_id) + " in the line of " + what.lock +
              " was taken back by a call that does not wait there");
  }
  if (state.places.contains(what.lease_id) && state.drained.contains(what.keeper)) {
    Violation("a daemon that drains gave up the place of " + Shown(what.lease_id) +
              " in the line of " + what.lock);
  }
  CheckTurnOfGivenUp(state, now);
  CheckTurnOfTold(state, now);
  Leave(state, what.lease_id, now);
  LeavePlaceBefore(state, what);
  ++state.void_entries;
  state.ends.insert(what.keeper);
  LetStandInQuarantine(state, what.lease_id, now);
  // What is forgotten cannot be taken back: it was a place in an older line. Nor what was released.
  if (state.turn.to.lease_id != what.lease_id || state.forgotten || state.end_doubted) return;
  if (state.phase != Phase::kLease && state.phase != Phase::kOffered) return;
  if (state.turn.to.keeper != what.keeper) {
    if (now >= EndOf(state)) return;
    Violation(what.lock + " was taken back from " + Shown(what.lease_id) +
              " by a call that has not got it");
  }
  if (state.phase == Phase::kLease && state.delivered.contains(what.keeper)) {
    if (now >= EndOf(state)) return;  // By a late message about its offer: it has ended by itself.
    Violation(what.lock + " was taken back from " + Shown(what.lease_id) +
              ", which knows that it has it");
  }
  // Nobody has heard of the lease, so no lock_delay and no hold_at_least is due either.
  state.over_at = std::min(now, FreeSince(state));
  state.phase = Phase::kWithdrawn;
}

// What a later attempt withdraws is void all the same.
void Judge::WithdrawalKept(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  ++state.void_entries;
  LeavePlaceBefore(state, what);
  const auto place = state.places.find(what.lease_id);
  if (place != state.places.end() && place->second.keeper == what.keeper) {
    Leave(state, what.lease_id, now);
  }
}

void Judge::LeavePlaceBefore(Lock& lock, const Try& what) {
  const auto before = lock.places_before.find(what.lease_id);
  if (before != lock.places_before.end() && before->second.keeper == what.keeper) {
    lock.places_before.erase(before);
  }
}

void Judge::LeftLine(const std::string& lock, const std::string& lease_id, Instant now) {
  Leave(locks_[lock], lease_id, now);
}

void Judge::Fenced(const std::string& lock, int64_t token, bool admitted) {
  const Lock& state = locks_[lock];
  if (admitted && state.epoch != epochs_) {
    Violation("token " + std::to_string(token) + " of " + lock + " was admitted without a proof");
  }
  if (admitted && state.only_restored) {
    Violation("token " + std::to_string(token) + " of " + lock +
              " was only restored, and admitted");
  }
  if (admitted && token != state.turn.token) {
    Violation("token " + std::to_string(token) + " of " + lock + " was admitted, the newest is " +
              std::to_string(state.turn.token));
  }
}

// --- what the world did

void Judge::DaemonGone(const std::string& daemon, Instant now) { gone_.emplace(daemon, now); }

size_t Judge::UnansweredCalls() const {
  return static_cast<size_t>(std::count_if(calls_.begin(), calls_.end(),
                                           [](const auto& call) { return call.second == 0; }));
}

void Judge::Remains(int64_t keys_in_store, size_t outstanding, size_t sessions) {
  if (keys_in_store != 0) Violation(std::to_string(keys_in_store) + " keys remain in the store");
  if (outstanding != 0) Violation(std::to_string(outstanding) + " operations never ended");
  if (sessions != 0) Violation(std::to_string(sessions) + " sessions never ended");
  const size_t unanswered = UnansweredCalls();
  if (unanswered != 0) Violation(std::to_string(unanswered) + " calls were never answered");
}

// --- the rules

// When the lock can be given to the next: long ago if nobody ever had it.
Instant Judge::FreeSince(const Lock& lock) const {
  switch (lock.phase) {
    case Phase::kNone:
      return Instant::min();
    case Phase::kOffered:
      return lock.doubted ? Instant::min() : lock.turn.end;
    case Phase::kLease:
      return std::max<Instant>(EndOf(lock) + lock.turn.lock_delay, HoldEnd(lock));
    case Phase::kReleased:
      return std::max(lock.over_at, HoldEnd(lock));
    case Phase::kWithdrawn:
      break;
  }
  return lock.over_at;
}

// Counts from the grant, or from the claim of an offer.
void Judge::HoldBegins(Lock& lock, Instant now) {
  const Micros hold = lock.turn.hold_at_least;
  const bool begins = hold > Micros(0) && lock.phase == Phase::kLease;
  lock.hold_end = begins ? now + hold : Instant::min();
  lock.given[lock.turn.token].hold_end = lock.hold_end;
}

// Until when nobody may get the lock because of hold_at_least. A loss may open it early.
Instant Judge::HoldEnd(const Lock& lock) const {
  return lock.doubted || lock.epoch != epochs_ ? Instant::min() : lock.hold_end;
}

// The same if no loss has opened it.
Instant Judge::LatestHoldEnd(const Lock& lock) {
  const bool may_be_held = lock.phase == Phase::kLease || lock.phase == Phase::kReleased;
  return may_be_held ? lock.hold_end : Instant::min();
}

bool Judge::IsClosedByHold(const Lock& lock) const {
  return lock.phase == Phase::kReleased && HoldEnd(lock) > lock.over_at;
}

// It was released so close to its end that only the node's clock can tell.
bool Judge::MayHaveExpired(const Lock& lock) const {
  return tolerance_ > Micros(0) && lock.phase == Phase::kReleased &&
         lock.over_at + tolerance_ > EndOf(lock);
}

std::optional<bool> Judge::PreviousExpired(const Lock& lock, Instant now) const {
  if (lock.doubted && !lock.end_doubted) return std::nullopt;
  if (lock.closed_by_ended_until != Instant::min()) return std::nullopt;
  if (lock.phase == Phase::kNone) return false;
  if (now - FreeSince(lock) >= retention_) return std::nullopt;
  if (lock.phase == Phase::kLease || lock.end_doubted) return true;
  if (MayHaveExpired(lock)) return std::nullopt;
  if (lock.phase == Phase::kReleased) return false;
  return lock.previous_expired;  // Nobody had a lease in this turn.
}

bool Judge::IsVoid(const Lock& lock, const Void& entry, Instant now) const {
  return now - entry.at < retention_ && lock.void_entries - entry.entries < kVoidsKept;
}

// In a quarantine the data may be older than what a waiter or a withdrawn attempt repeats. So where
// it may have fallen out of the void list that the lease has ended, later attempts may stand.
void Judge::LetStandInQuarantine(Lock& lock, const std::string& lease_id, Instant now) const {
  const auto released = lock.released.find(lease_id);
  const bool is_void = released != lock.released.end() && IsVoid(lock, released->second, now);
  if (now < quarantine_end_ + tolerance_ && !is_void) lock.ended.erase(lease_id);
}

void Judge::CheckVoid(const Lock& lock, const Try& what, const char* event, Instant now) {
  const auto released = lock.released.find(what.lease_id);
  if (released != lock.released.end() && IsVoid(lock, released->second, now)) {
    Violation(Shown(what.lease_id) + " " + event + " " + what.lock + " after it was released");
  }
  const auto refused = lock.refused.find(what.keeper);
  if (refused != lock.refused.end() && IsVoid(lock, refused->second, now)) {
    Violation(Shown(what.lease_id) + " " + event + " " + what.lock + " after it was refused");
  }
}

// A lock may forget which first attempts are void, but then it refuses all repeats that it does not
// know. The lease before ends as this turn is given, if it has not been released.
void Judge::CheckRepeat(Lock& lock, const Turn& turn, Instant now) {
  if (lock.phase == Phase::kLease && !lock.forgotten)
    lock.ended.emplace(lock.turn.to.lease_id, now);
  const auto ended = lock.ended.find(turn.to.lease_id);
  if (turn.attempt < 2 || ended == lock.ended.end() || now - ended->second >= retention_) return;
  Violation(Shown(turn.to.lease_id) + " was given " + turn.to.lock +
            " by a repeat of its acquire, after its lease had ended");
}

// When a place or a turn that `keeper` has had `since` has to be gone if its acquire was given up.
Instant Judge::TakenBackBy(const Lock& lock, const std::string& keeper, Instant since) const {
  const auto given_up = lock.given_up.find(keeper);
  if (given_up == lock.given_up.end()) return Instant::max();
  return DoneBy(keeper, std::max(given_up->second, since));
}

// When the daemon of `keeper` has done with the store what it began at `since`.
Instant Judge::DoneBy(const std::string& keeper, Instant since) const {
  const std::string daemon = DaemonOf(keeper);
  if (gone_.contains(daemon)) return Instant::max();
  const Instant due = since + kLeavingMax;
  const auto disturbed = disturbed_until_.find(daemon);
  if (disturbed == disturbed_until_.end()) return due;
  return std::max<Instant>(due, disturbed->second + kTryingAgainMax);
}

void Judge::CheckTurnOfGivenUp(Lock& lock, Instant now) {
  if (lock.doubted || (lock.phase != Phase::kLease && lock.phase != Phase::kOffered)) return;
  const Instant end = std::min(now, lock.turn.end);
  if (end <= TakenBackBy(lock, lock.turn.to.keeper, lock.end_set_at)) return;
  const auto given_up = lock.given_up.extract(lock.turn.to.keeper);
  Violation(Shown(lock.turn.to.lease_id) + " kept " + lock.turn.to.lock + " for " +
            Seconds(Between(given_up.mapped(), end)) + " after it had been given up");
}

void Judge::CheckPlaceOfGivenUp(Lock& lock, const std::string& lease_id, const Place& place,
                                Instant now) {
  if (now <= TakenBackBy(lock, place.keeper, place.since)) return;
  const auto given_up = lock.given_up.extract(place.keeper);
  Violation(Shown(lease_id) + " kept its place in line for " +
            Seconds(Between(given_up.mapped(), now)) + " after it had been given up");
}

void Judge::Leave(Lock& lock, const std::string& lease_id, Instant now) {
  if (const auto place = lock.places.find(lease_id); place != lock.places.end()) {
    CheckPlaceOfGivenUp(lock, lease_id, place->second, now);
    lock.places.erase(place);
  }
  const auto waiter = lock.line.find(lease_id);
  if (waiter == lock.line.end()) return;
  CheckIdle(lock, lease_id, waiter->second, now);
  lock.line.erase(waiter);
}

}  // namespace lockkeeper::simulation
