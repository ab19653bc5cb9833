// SPDX-License-Identifier: Apache-2.0
//
// simulate [--schedules N] [--seed S]: runs N schedules from seed S on, after the seeds that once
// failed. Exit code 0 only without a violation.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "simulation/campaign.h"
#include "support/source_tree.h"

namespace {

// Seeds that once failed, one in each line before a `#`.
std::vector<uint64_t> RegressionSeeds() {
  std::vector<uint64_t> seeds;
  std::ifstream file(lockkeeper::support::SourcePath("tests/simulation/regression_seeds.txt"));
  for (std::string line; std::getline(file, line);) {
    const std::string text = line.substr(0, line.find('#'));
    if (!text.empty()) seeds.push_back(std::stoull(text));
  }
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t schedules = 1000;
  uint64_t seed = 1;
  uint64_t failures_max = 5;
  CLI::App app("Runs lockkeeper's domain through faults in virtual time.");
  app.add_option("--schedules", schedules, "How many schedules to run")->capture_default_str();
  app.add_option("--seed", seed, "Seed of the first one")->capture_default_str();
  app.add_option("--failures", failures_max, "Stop after so many")->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  std::vector<uint64_t> seeds = RegressionSeeds();
  for (uint64_t i = 0; i < schedules; ++i) seeds.push_back(seed + i);
  return lockkeeper::simulation::RunAll(seeds, failures_max, std::cout) == 0 ? 0 : 1;
}
