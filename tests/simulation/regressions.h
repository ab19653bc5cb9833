// SPDX-License-Identifier: Apache-2.0
//
// Schedules that once failed.
#pragma once

#include <vector>

#include "simulation/schedule.h"

namespace lockkeeper::simulation {

// The schedules of regression_seeds.txt, drawn evenly, and those of regression_schedules.txt, as
// written there. Throws std::runtime_error if a file cannot be read.
std::vector<Schedule> RegressionSchedules();

}  // namespace lockkeeper::simulation
