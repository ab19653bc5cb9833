// SPDX-License-Identifier: Apache-2.0
//
// A search through schedules that goes where defects are. It begins with schedules of a swarm and
// goes on from those that came through what no schedule before them did: it moves, adds and changes
// faults around the times at which a run did something rare, or at which something ends.
//
// What it draws depends on its seed and on what it has learned, so that the same seed gives the
// same schedules in the same order. Each of them can be repeated alone as WriteSchedule has it.
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

  // What the run of it came through. One that failed is not gone on from: it would fail again.
  void Learn(const Schedule& schedule, const Coverage& coverage);

 private:
  // A schedule that saw something first.
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
