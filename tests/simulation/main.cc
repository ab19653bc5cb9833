// SPDX-License-Identifier: Apache-2.0
//
// simulate [--schedules N] [--seed S] [--jobs J] [--losses]: runs N schedules from seed S on, after
// the seeds that once failed. Exit code 0 only without a violation.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <thread>
#include <vector>

#include "simulation/campaign.h"
#include "simulation/regression_seeds.h"
#include "simulation/schedule.h"

int main(int argc, char** argv) {
  uint64_t schedules = 1000;
  uint64_t seed = 1;
  bool no_regression = false;
  bool only_losses = false;
  lockkeeper::simulation::CampaignOptions options;
  options.jobs = std::max(std::thread::hardware_concurrency(), 1U);
  CLI::App app("Runs lockkeeper's domain through faults in virtual time.");
  app.add_option("--schedules", schedules, "How many schedules to run")->capture_default_str();
  app.add_option("--seed", seed, "Seed of the first one")
      ->envname("LOCKKEEPER_SIM_SEED")
      ->capture_default_str();
  app.add_option("--jobs", options.jobs, "Schedules at a time")->capture_default_str();
  app.add_option("--failures", options.failures_max, "Stop after so many")->capture_default_str();
  app.add_flag("--trace", options.trace, "Show what the store did in each failure");
  app.add_flag("--no-regression", no_regression, "Leave out the seeds that once failed");
  app.add_flag("--losses", only_losses, "Only schedules in which the store can lose something");
  CLI11_PARSE(app, argc, argv);

  std::vector<uint64_t> seeds;
  if (!no_regression) seeds = lockkeeper::simulation::RegressionSeeds();
  for (uint64_t left = schedules; left > 0; ++seed) {
    if (only_losses && !lockkeeper::simulation::Draw(seed).guarded) continue;
    seeds.push_back(seed);
    --left;
  }
  return lockkeeper::simulation::RunAll(seeds, options, std::cout) == 0 ? 0 : 1;
}
