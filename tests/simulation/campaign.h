// SPDX-License-Identifier: Apache-2.0
//
// Many runs, and what to do with one that fails.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "simulation/schedule.h"
#include "simulation/world.h"

namespace lockkeeper::simulation {

// All scripts of the service, compiled. A world needs them so.
class CompiledScripts : public support::LuaScripts {
 public:
  CompiledScripts();
};

// The smallest schedule that still fails, by leaving out faults and clients one by one.
Schedule Shrink(const Schedule& failing, support::LuaScripts& lua);

// How schedules are drawn: each from a seed of its own, or by searches (search.h), each of which
// has a seed and draws kSearchLength of them.
// Or small scopes (small_scope.h), each with all orders of its messages.
enum class Drawing { kEven, kSteered, kSmallScopes };
inline constexpr uint64_t kSearchLength = 500;

struct CampaignOptions {
  std::vector<Schedule> first;  // Run before those that are drawn.
  Drawing drawing = Drawing::kSteered;
  uint64_t seed = 1;  // The first one.
  uint64_t schedules = 0;
  unsigned depth = 7;         // Messages of small scopes whose orders are tried.
  bool only_guarded = false;  // Only schedules in which the store can lose something.
  unsigned jobs = 1;          // Threads.
  uint64_t failures_max = 5;  // No schedule begins after so many have failed.
  bool trace = false;         // Shows what the node did in each failure, after shrinking.
};

// Runs schedules, writes failures and a last line of totals to `out`, and answers how many
// schedules failed.
uint64_t RunAll(const CampaignOptions& options, std::ostream& out);

}  // namespace lockkeeper::simulation
