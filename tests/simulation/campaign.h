// SPDX-License-Identifier: Apache-2.0
//
// Many runs: one seed after the other, and what to do with one that fails.
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

struct CampaignOptions {
  unsigned jobs = 1;          // Schedules at a time, each in a thread.
  uint64_t failures_max = 5;  // No schedule begins after so many have failed.
  bool trace = false;         // Shows what the node did in each failure, after shrinking.
};

// Runs the schedules of `seeds`, writes failures and a last line of totals to `out`, and answers
// how many schedules failed.
uint64_t RunAll(const std::vector<uint64_t>& seeds, const CampaignOptions& options,
                std::ostream& out);

}  // namespace lockkeeper::simulation
