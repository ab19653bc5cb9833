// SPDX-License-Identifier: Apache-2.0
//
// simulate [--schedules N] [--seed S] [--even | --orders DEPTH] [--store redis|memory]
// [--schedule TEXT]: runs N schedules after those that once failed. Without --store: N with Redis,
// and a twentieth of N more with the store in memory. Exit code 0 only without a violation.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "simulation/campaign.h"
#include "simulation/regressions.h"
#include "simulation/schedule.h"

#ifdef LOCKKEEPER_MIMALLOC  // A schedule allocates ten thousand times.
#include <mimalloc-new-delete.h>
#endif

namespace {

using namespace lockkeeper::simulation;  // NOLINT: it is all about this

// So many schedules with Redis for each one with the store in memory, which has less to search.
constexpr uint64_t kInMemoryOneIn = 20;

struct Arguments {
  CampaignOptions options;
  std::optional<uint64_t> seed;
  std::string schedule;
  std::string store;
  bool even = false;
  unsigned orders = 0;
  bool no_regression = false;
};

void Declare(CLI::App& app, Arguments& arguments) {
  CampaignOptions& options = arguments.options;
  app.add_option("--schedules", options.schedules, "How many schedules to run")
      ->capture_default_str();
  app.add_option("--seed", arguments.seed, "First seed; default: a new one")
      ->envname("LOCKKEEPER_SIM_SEED");
  auto* even = app.add_flag("--even", arguments.even, "Draw each evenly, from a seed of its own");
  app.add_option("--orders", arguments.orders,
                 "Small scopes, each with all orders of so many messages")
      ->excludes(even)
      ->check(CLI::Range(1U, 12U));
  app.add_option("--store", arguments.store, "The store of all; default: Redis, of some memory")
      ->check(CLI::IsMember({"redis", "memory"}));
  app.add_option("--schedule", arguments.schedule, "Run only this one, as a failure printed it");
  app.add_option("--jobs", options.jobs, "Schedules at a time")->capture_default_str();
  app.add_option("--failures", options.failures_max, "Stop after so many")->capture_default_str();
  app.add_flag("--trace", options.trace, "Show what the store did in each failure");
  app.add_flag("--no-regression", arguments.no_regression, "Leave out the seeds that once failed");
  app.add_flag("--losses", options.only_guarded,
               "Only schedules in which the store can lose something")
      ->needs(even);
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CampaignOptions& options = arguments.options;
  options.schedules = 1000;
  options.jobs = std::max(std::thread::hardware_concurrency(), 1U);
  CLI::App app("Runs lockkeeper's domain through faults in virtual time.");
  Declare(app, arguments);
  CLI11_PARSE(app, argc, argv);

  if (!arguments.schedule.empty()) {
    const absl::StatusOr<Schedule> schedule = ParseSchedule(arguments.schedule);
    if (!schedule.ok()) {
      std::cerr << "simulate: no such schedule: " << schedule.status().message() << "\n";
      return 2;
    }
    options.first = {*schedule};
    options.schedules = 0;
  } else if (!arguments.no_regression && arguments.store != "memory") {
    options.first = RegressionSchedules();
  }
  if (arguments.store == "memory") {
    options.in_memory = std::exchange(options.schedules, 0);
  } else if (arguments.store.empty() && !options.only_guarded) {
    options.in_memory = options.schedules / kInMemoryOneIn;
  }
  if (arguments.even) options.drawing = Drawing::kEven;
  if (arguments.orders > 0) {
    options.drawing = Drawing::kSmallScopes;
    options.depth = arguments.orders;
  }
  if (arguments.schedule.empty()) {
    options.seed = arguments.seed ? *arguments.seed : std::random_device()();
    std::cout << "seed " << options.seed << (arguments.seed ? "" : ", drawn anew") << std::endl;
  }
  return RunAll(options, std::cout) == 0 ? 0 : 1;
}
