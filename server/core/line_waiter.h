// SPDX-License-Identifier: Apache-2.0
//
// The waiters of this daemon in the line of one lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>

#include "core/executor.h"
#include "core/requests.h"
#include "core/waiting_line.h"

namespace lockkeeper::core {

struct LocalLine;

struct LineWaiter {
  enum class State { kWaiting, kConfirming, kClaiming, kLeaving };

  LocalLine* line = nullptr;  // Has the lock's name; `request.name` is empty.
  AcquireRequest request;
  Waiting place;
  Instant arrived;
  Done<AcquireAnswer> done;
  State state = State::kWaiting;
  bool over = false;  // The wait has ended while a claim was in flight.
  // A claim of it had no answer: it may have the lease, and then it stands in line no longer.
  bool may_have_claimed = false;
  bool has_lost_place = false;  // It has to stand again.
  bool released = false;
  bool caller_left = false;
  bool does_not_wait = false;  // But for what its offer takes: its wait_timeout was 0.
  // Of the last offer that was not confirmed. Messages about it may be late.
  std::optional<FencingToken> put_back;
  std::unique_ptr<Timer> end_timer;
  std::unique_ptr<Timer> claim_timer;
  std::unique_ptr<Timer> stand_timer;
};

using OwnedWaiter = std::unique_ptr<LineWaiter>;

// Hashes waiters for two kinds of sets: owning sets are keyed by lease id, non-owning sets by
// keeper.
struct HashOfWaiter {
  using is_transparent = void;
  size_t operator()(const HexId& id) const { return HashOfHexId()(id); }
  size_t operator()(const OwnedWaiter& waiter) const { return (*this)(waiter->request.lease_id); }
  size_t operator()(const LineWaiter* waiter) const { return (*this)(waiter->request.keeper); }
};

struct SameWaiter {
  using is_transparent = void;
  template <typename T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  bool operator()(const OwnedWaiter& a, const LeaseId& id) const {
    return a->request.lease_id == id;
  }
  bool operator()(const LeaseId& id, const OwnedWaiter& a) const { return (*this)(a, id); }
  bool operator()(const LineWaiter* a, const Keeper& keeper) const {
    return a->request.keeper == keeper;
  }
  bool operator()(const Keeper& keeper, const LineWaiter* a) const { return (*this)(a, keeper); }
};

struct LocalLine {
  std::string name;
  std::unordered_set<OwnedWaiter, HashOfWaiter, SameWaiter> waiters;
  Instant poll_at = Instant::max();  // These three are PollSchedule's.
  uint64_t poll_number = 0;
  size_t heap_place = 0;
  bool polling = false;
  int32_t length = 0;  // As the store said last.

  // The line in the store in which all of them stand. 0 if they stand in different lines, or if it
  // is not known.
  int64_t CommonLine() const;

  bool IsDueBefore(const LocalLine& other) const {
    return std::tie(poll_at, poll_number) < std::tie(other.poll_at, other.poll_number);
  }
};

}  // namespace lockkeeper::core
