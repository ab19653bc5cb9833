// SPDX-License-Identifier: Apache-2.0
//
// Draws schedules for the search. Each leaves out most kinds of faults and habits of clients and
// has much of the others, with extreme sizes, so that rare situations are common in some of them.
#pragma once

#include <cstdint>

#include "simulation/schedule.h"
#include "support/random.h"

namespace lockkeeper::simulation {

Schedule DrawSwarm(support::Random& random);

// A fault of one of the kinds that fit the schedule, at any time.
Fault DrawFault(const Schedule& schedule, support::Random& random);

// A number in [low, high], each order of magnitude as often. Requires: 0 < low <= high.
int64_t Spread(support::Random& random, int64_t low, int64_t high);

// Makes leases wait for replicas, which are away at times: mostly for moments, or about as long as
// a daemon waits for them.
void AddReplicas(Schedule& schedule, support::Random& random);

// Removes faults until the store loses data, and its clock is set, at most as often as a run
// allows.
void LimitLosses(Schedule& schedule);

}  // namespace lockkeeper::simulation
