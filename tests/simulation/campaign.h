// SPDX-License-Identifier: Apache-2.0
//
// Runs many schedules, and shrinks and reports the ones that fail.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "simulation/schedule.h"
#include "simulation/world.h"

namespace lockkeeper::simulation {

// All scripts of the service, compiled, as a world needs them.
class CompiledScripts : public support::LuaScripts {
 public:
  CompiledScripts();
};

// The smallest schedule that still fails. Removes faults and clients one by one.
Schedule Shrink(const Schedule& failing, support::LuaScripts& lua);

// How schedules are drawn: each from its own seed (kEven); by searches (search.h), each of which
// has a seed and draws kSearchLength schedules; or as small scopes (small_scope.h), each with all
// orders of its messages.
enum class Drawing { kEven, kSteered, kSmallScopes };
inline constexpr uint64_t kSearchLength = 500;

struct CampaignOptions {
  std::vector<Schedule> first;  // Run before the drawn schedules.
  Drawing drawing = Drawing::kSteered;
  uint64_t seed = 1;  // The first one.
  uint64_t schedules = 0;
  uint64_t in_memory = 0;     // So many more, from the same seeds, with the store in memory.
  unsigned depth = 7;         // How many messages of a small scope are reordered.
  bool only_guarded = false;  // Only schedules in which the store can lose something.
  unsigned jobs = 1;          // Threads.
  uint64_t failures_max = 5;  // No schedule begins after so many failures.
  bool trace = false;         // Prints what the node did in each failure, after shrinking.
};

// Runs schedules, writes failures and a last line of totals to `out`, and returns how many
// schedules failed.
uint64_t RunAll(const CampaignOptions& options, std::ostream& out);

}  // namespace lockkeeper::simulation
