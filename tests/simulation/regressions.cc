// SPDX-License-Identifier: Apache-2.0
#include "simulation/regressions.h"

#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>

#include "simulation/even_schedule.h"
#include "support/source_tree.h"

namespace lockkeeper::simulation {
namespace {

// The lines of a file, without comments and empty ones.
std::vector<std::string> LinesOf(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream file(support::ReadSourceFile(path));
  for (std::string line; std::getline(file, line);) {
    line.resize(std::min(line.size(), line.find('#')));
    if (line.find_first_not_of(' ') != std::string::npos) lines.push_back(line);
  }
  return lines;
}

}  // namespace

std::vector<Schedule> RegressionSchedules() {
  std::vector<Schedule> schedules;
  for (const std::string& line : LinesOf("tests/simulation/regression_seeds.txt")) {
    schedules.push_back(DrawEven(std::stoull(line)));
  }
  for (const std::string& line : LinesOf("tests/simulation/regression_schedules.txt")) {
    const absl::StatusOr<Schedule> schedule = ParseSchedule(line);
    if (!schedule.ok()) {
      throw std::runtime_error("not a schedule: " + line);
    }
    schedules.push_back(*schedule);
  }
  return schedules;
}

}  // namespace lockkeeper::simulation
