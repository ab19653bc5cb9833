// SPDX-License-Identifier: Apache-2.0
//
// Schedules whose parts are all drawn evenly from one 64-bit seed. The seeds of
// regression_seeds.txt mean something only as long as this draws the same.
#pragma once

#include <cstdint>

#include "simulation/schedule.h"

namespace lockkeeper::simulation {

Schedule DrawEven(uint64_t seed);

}  // namespace lockkeeper::simulation
