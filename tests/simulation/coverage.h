// SPDX-License-Identifier: Apache-2.0
//
// What one run covered: which kinds of calls met which states of a lock after which faults, and
// when leases, offers and the like ended. The search continues from schedules that covered
// something new, and lets faults strike around these times.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/types.h"

namespace lockkeeper::simulation {

// Events at a known time: the end of something, a beat, the confirmation of a lease.
enum class Edge { kLease, kOffer, kLockDelay, kQuarantine, kBeat, kConfirmed, kHold };
inline constexpr size_t kEdges = 7;

class Coverage {
 public:
  struct Sight {
    uint64_t what = 0;  // The same number for the same event in every run.
    core::Micros at{};  // Its first time, since the run began.
  };

  // The store has done an operation on a lock: `call` is its kind and its outcome.
  void Operation(const std::string& lock, int call, const std::string& daemon, core::Instant now);

  // A record was seen in this state, until `end`.
  void Record(const std::string& lock, char state, core::Instant end);

  // A fault of this kind has struck.
  void Struck(int kind, core::Instant now);

  void Ends(Edge edge, core::Instant at);

  const std::vector<Sight>& sights() const { return sights_; }
  const std::vector<core::Micros>& edges(Edge edge) const {
    return edges_[static_cast<size_t>(edge)];
  }

 private:
  struct Lock {
    int last_call = 0;
    std::string last_daemon;
    char state = '-';
    core::Instant end;
  };
  struct Strike {
    int kind = 0;  // 0: none yet.
    core::Instant at;
  };

  void See(uint64_t what, core::Instant now);

  std::unordered_map<std::string, Lock> locks_;
  std::array<Strike, 2> strikes_;  // The last ones, of different kinds.
  core::Instant quarantine_end_;
  std::unordered_set<uint64_t> seen_;
  std::vector<Sight> sights_;
  std::array<std::vector<core::Micros>, kEdges> edges_;
};

}  // namespace lockkeeper::simulation
