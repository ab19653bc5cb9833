// SPDX-License-Identifier: Apache-2.0
//
// One run of the simulator: a node, daemons and clients in one thread and virtual time. First
// faults strike. Then everything heals, and every client must get the first lock once more. Then
// all stop, and nothing may remain.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "simulation/coverage.h"
#include "simulation/schedule.h"
#include "support/fake_node/lua_scripts.h"

namespace lockkeeper::simulation {

struct Outcome {
  std::vector<std::string> violations;
  core::Micros virtual_time{};  // Until the last client had stopped.
  uint64_t executed = 0;        // Commands that the node executed.
  uint64_t grants = 0;
  uint64_t faults = 0;
  uint64_t failovers = 0;  // Of these.
  Coverage coverage;
};

// Runs `schedule` to its end. `lua` keeps the compiled scripts between runs. Writes what the node
// does to `trace`, unless it is null.
Outcome Run(const Schedule& schedule, support::LuaScripts& lua, std::ostream* trace = nullptr);

}  // namespace lockkeeper::simulation
