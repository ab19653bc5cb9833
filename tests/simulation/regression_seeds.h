// SPDX-License-Identifier: Apache-2.0
//
// The seeds of regression_seeds.txt: schedules that once failed.
#pragma once

#include <cstdint>
#include <vector>

namespace lockkeeper::simulation {

// Throws std::runtime_error if the file cannot be read.
std::vector<uint64_t> RegressionSeeds();

}  // namespace lockkeeper::simulation
