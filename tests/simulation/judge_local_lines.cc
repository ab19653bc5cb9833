// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of waiting at a store without a line: each daemon has a line of its own for
// a lock (core/local_fifo.h). It promises less than the line of a store: nothing of the order of
// waiters of several daemons, nothing to who comes again after a drain, and a lock that was freed
// over another daemon is found free only when the first in line asks the next time.
#include <algorithm>
#include <optional>
#include <string>

#include "core/local_fifo.h"
#include "simulation/judge.h"
#include "simulation/judge_text.h"

namespace lockkeeper::simulation {
namespace {

// A daemon that knows that a lock is free has got it within this.
constexpr Micros kKnownFreeMax{50'000};
// And one that does not know.
constexpr Micros kUnknownFreeMax = core::LocalFifo::kRetryInterval + kKnownFreeMax;

}  // namespace

bool Judge::IsEmpty(const LocalLine& line) {
  return std::all_of(line.places.begin(), line.places.end(),
                     [](const auto& place) { return place.left.has_value(); });
}

void Judge::StandsHere(const Try& what, Instant now) {
  LocalLine& line = locks_[what.lock].local_lines[DaemonOf(what.keeper)];
  auto& places = line.places;
  for (auto& place : places) {
    if (place.lease_id != what.lease_id || place.left != now) continue;
    place.keeper = what.keeper;
    place.left.reset();
    return;
  }
  if (IsEmpty(line)) {
    places.clear();
    line.since = now;
  }
  places.push_back({what.lease_id, what.keeper, now, std::nullopt});
}

void Judge::LeavesHere(const Try& what, Instant now) {
  Lock& state = locks_[what.lock];
  const std::string daemon = DaemonOf(what.keeper);
  LocalLine& line = state.local_lines[daemon];
  CheckLocalIdle(state, daemon, line, now);
  for (auto& place : line.places) {
    if (place.keeper == what.keeper) place.left = now;
  }
}

void Judge::FreedOver(const std::string& daemon, const std::string& lock, Instant now) {
  Lock& state = locks_[lock];
  if (state.phase == Phase::kReleased && state.over_at == now) state.freed_over = daemon;
}

// Not before a waiter of the same daemon that stood there when this one was asked for, nor, if it
// has left since, before one that stood before it. Only a repeat asks although others stand there:
// it may have the lock already. A place that later attempts took over and left was its own when it
// was asked for.
void Judge::CheckLocalOrder(const Lock& lock, const Turn& turn) {
  const auto line = lock.local_lines.find(DaemonOf(turn.to.keeper));
  if (line == lock.local_lines.end()) return;
  const auto& places = line->second.places;
  const bool stands = std::any_of(places.begin(), places.end(), [&](const auto& place) {
    return !place.left && place.keeper == turn.to.keeper;
  });
  if (!stands && turn.attempt > 1) return;
  for (const auto& place : places) {
    const bool stood = !place.left || *place.left >= turn.sent;
    const bool own = place.lease_id == turn.to.lease_id && stood;
    if (own || place.keeper == turn.to.keeper) return;
    if (place.left || place.since >= turn.sent) continue;
    Violation(Shown(turn.to.lease_id) + " was given " + turn.to.lock + " before " +
              Shown(place.lease_id) + ", which stood before it at the same daemon");
  }
}

void Judge::CheckLocalIdle(const Lock& lock, const std::string& daemon, const LocalLine& line,
                           Instant now) {
  if (gone_.contains(daemon) || IsEmpty(line)) return;
  // It knows of what it freed itself; and of the end of a lease that it has asked for since that
  // end was set.
  const Instant free = std::max(FreeSince(lock), LatestHoldEnd(lock));
  const bool ran_out = lock.phase == Phase::kLease || LatestHoldEnd(lock) > lock.over_at;
  const Instant end_set_at = lock.phase == Phase::kLease ? lock.end_set_at : lock.over_at;
  const bool knows =
      line.since < free && (ran_out ? std::max(line.since, end_set_at) + kUnknownFreeMax < free
                                    : lock.freed_over == daemon);
  Instant since = std::max(free, line.since);
  const auto disturbed = disturbed_until_.find(daemon);
  const bool was_disturbed =
      disturbed != disturbed_until_.end() && disturbed->second + kUnknownFreeMax >= since;
  if (disturbed != disturbed_until_.end()) since = std::max(since, disturbed->second);
  const Micros max = knows && !was_disturbed ? kKnownFreeMax : kUnknownFreeMax;
  if (now <= since || now - since <= max) return;
  Violation(lock.turn.to.lock + " was free for " + Seconds(Between(since, now)) +
            " while somebody waited at daemon " + daemon.substr(daemon.size() - 2));
}

}  // namespace lockkeeper::simulation
