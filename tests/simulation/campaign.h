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

// The smallest schedule that still fails, by leaving out faults and clients one by one.
Schedule Shrink(const Schedule& failing, support::LuaScripts& lua);

// Runs the schedules of `seeds`, writes failures and a last line of totals to `out`, and answers
// how many schedules failed. Stops after `failures_max`.
uint64_t RunAll(const std::vector<uint64_t>& seeds, uint64_t failures_max, std::ostream& out);

}  // namespace lockkeeper::simulation
