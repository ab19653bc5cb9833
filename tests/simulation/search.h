// SPDX-License-Identifier: Apache-2.0
//
// Searches schedules that find defects. It begins with a swarm and continues from schedules that
// covered something new: it moves, adds and changes faults around the times at which a run did
// something rare, or at which something ended.
//
// The same seed gives the same schedules in the same order. Each of them can be repeated alone,
// from its text (WriteSchedule).
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "simulation/coverage.h"
#include "simulation/schedule.h"
#include "support/random.h"

namespace lockkeeper::simulation {

class Search {
 public:
  explicit Search(uint64_t seed) : random_(seed) {}

  // The next schedule to run.
  Schedule Next();

  // Reports the coverage of a run. Do not report a schedule that failed, because its variants would
  // fail again.
  void Learn(const Schedule& schedule, const Coverage& coverage);

 private:
  // A schedule that was the first to cover something.
  struct Pioneer {
    Schedule schedule;
    Coverage coverage;
    std::vector<Coverage::Sight> first;  // Of all schedules so far.
  };

  const Pioneer& PickPioneer();
  Schedule Mutate(const Pioneer& pioneer);
  void MutateOnce(const Pioneer& pioneer, Schedule& schedule);
  Micros PickMoment(const Pioneer& pioneer, const Schedule& schedule);
  Micros StrikeAround(const Fault& fault, Micros moment);

  support::Random random_;
  uint64_t drawn_ = 0;
  std::vector<Pioneer> pioneers_;
  std::unordered_map<uint64_t, uint64_t> seen_;  // How many schedules saw it.
};

}  // namespace lockkeeper::simulation
