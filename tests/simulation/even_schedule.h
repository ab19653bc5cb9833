// SPDX-License-Identifier: Apache-2.0
//
// Draws a schedule whose parts are all evenly distributed, from one 64-bit seed. The seeds of
// regression_seeds.txt are valid only as long as this draws the same.
#pragma once

#include <cstdint>

#include "simulation/schedule.h"

namespace lockkeeper::simulation {

Schedule DrawEven(uint64_t seed);

// The same, with what came later: one in five has hold_at_least, one in eight needs replicas.
Schedule DrawEvenWithAll(uint64_t seed);

}  // namespace lockkeeper::simulation
