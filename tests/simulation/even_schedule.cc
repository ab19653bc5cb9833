// SPDX-License-Identifier: Apache-2.0
#include "simulation/even_schedule.h"

#include <algorithm>
#include <vector>

#include "simulation/swarm.h"
#include "support/random.h"

namespace lockkeeper::simulation {
namespace {

using core::Millis;

// One in so many schedules has losses of the store; of the others one in so many has a guard,
// mostly for steps of the clock that only answers show.
constexpr uint64_t kLossesOneIn = 6;
constexpr uint64_t kGuardedOneIn = 9;
constexpr uint64_t kDataReplacedFromSeed = 80'000'000;
constexpr uint64_t kFailoverFromSeed = 31'000'000'000;

// Mostly few, sometimes many.
int Skewed(support::Random& random, int low, int high) {
  const int64_t first = random.Between(low, high);
  const int64_t second = random.Between(low, high);
  const int64_t third = random.Between(low, high);
  return static_cast<int>(std::min({first, second, third}));
}

std::vector<Fault> DrawFaults(support::Random random, Micros end) {
  // Each run suffers from a few kinds only, so that rare combinations come about undisturbed.
  std::vector<FaultKind> kinds;
  for (int i = 0; i < 3; ++i) {
    const bool at_daemon = random.OneIn(3);
    kinds.push_back(
        static_cast<FaultKind>(random.Below(at_daemon ? kDaemonFaultKinds : kFaultKinds)));
  }
  std::vector<Fault> faults;
  const int count = Skewed(random, 2, 10);
  for (int i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = random.Pick(kinds);
    fault.at = Micros(random.Between(0, end.count()));
    const int64_t longest = random.OneIn(2) ? 6'000'000 : 1'500'000;
    fault.duration = Micros(random.Between(1'000, longest));
    // Messages are few; and most pauses are longer than an offer lasts.
    if (fault.kind == FaultKind::kMessagesLate) fault.duration += Micros(3'000'000);
    if (fault.kind == FaultKind::kDaemonPause && !random.OneIn(4)) {
      fault.duration += Micros(1'000'000);
    }
    // One after the other on the same is worse than on many.
    if (random.OneIn(2)) fault.target = static_cast<uint32_t>(random.Below(1000));
    faults.push_back(fault);
  }
  return faults;
}

void AddStreamFaults(support::Random random, Micros end, std::vector<Fault>& faults) {
  const int count = Skewed(random, 0, 6);
  for (int i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = static_cast<FaultKind>(kFaultKinds + random.Below(kStreamFaultKinds));
    fault.at = Micros(random.Between(0, end.count()));
    fault.duration = Micros(random.Between(1'000, random.OneIn(2) ? 6'000'000 : 1'500'000));
    fault.target = static_cast<uint32_t>(random.Below(1000));
    // What a daemon knows of its leases is as old as the answers.
    if (random.OneIn(3)) {
      fault.kind = FaultKind::kStoreSlow;
      fault.duration = Micros(random.Between(200'000, 1'000'000));
    }
    faults.push_back(fault);
  }
}

// Losses are few, and their quarantines are shorter than the runs: for that leases are short.
void AddLosses(support::Random random, Schedule& schedule) {
  schedule.think_max = schedule.think_max / 2;
  if (!random.OneIn(3)) schedule.ttl = Millis(random.Between(500, 2'000));
  const int count = Skewed(random, 1, 3);
  for (int i = 0; i < count; ++i) {
    Fault fault;
    fault.kind =
        static_cast<FaultKind>(kFaultKinds + kStreamFaultKinds + random.Below(kLossFaultKinds));
    fault.at = Micros(random.Between(1'000'000, schedule.faults_end.count()));
    fault.duration = Micros(random.Between(1'000, random.OneIn(3) ? 6'000'000 : 1'000'000));
    fault.target = static_cast<uint32_t>(random.Below(1000));
    // So that the seeds of before mean what they meant.
    if (fault.kind == FaultKind::kRestartOlder && schedule.seed >= kDataReplacedFromSeed &&
        fault.target % 2 == 0) {
      fault.kind = FaultKind::kDataReplaced;
    }
    // The rest of the target says what the failover is like.
    if (schedule.seed >= kFailoverFromSeed && fault.duration.count() % 3 == 0) {
      fault.kind =
          fault.duration.count() % 2 == 0 ? FaultKind::kFailoverOrdered : FaultKind::kFailover;
    }
    if (fault.kind == FaultKind::kRestartOlder || fault.kind == FaultKind::kRestartUnproved) {
      schedule.durable = false;
    }
    schedule.faults.push_back(fault);
  }
}

// Steps as long as leases at most, while all are busy.
void AddNudges(support::Random& random, Schedule& schedule) {
  schedule.think_max = schedule.think_max / 2;
  schedule.ttl = Millis(random.Between(500, 2'000));
  const int64_t count = random.Between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    Fault fault;
    fault.kind = FaultKind::kNodeClockNudged;
    fault.at = Micros(random.Between(1'000'000, schedule.faults_end.count()));
    fault.duration = Micros(random.Between(100'000, 2'000'000));
    fault.target = static_cast<uint32_t>(random.Below(1000));
    schedule.faults.push_back(fault);
  }
}

}  // namespace

Schedule DrawEven(uint64_t seed) {
  support::Random random(seed);
  Schedule schedule;
  schedule.seed = seed;
  schedule.daemons = static_cast<int>(random.Between(2, 4));
  schedule.entrances = random.OneIn(2) ? 1 : schedule.daemons;
  schedule.balanced = !random.OneIn(3);
  schedule.clients = Skewed(random, 2, random.OneIn(20) ? 50 : 10);
  schedule.locks = Skewed(random, 1, 4);
  schedule.ttl = Millis(random.Between(500, 5'000));
  if (random.OneIn(5)) schedule.lock_delay = Millis(random.Between(1, 1'500));
  if (random.OneIn(8)) schedule.max_hold = Millis(random.Between(300, 3'000));
  schedule.scripts_loaded = !random.OneIn(5);
  schedule.think_max = Micros(random.Between(300'000, 16'500'000));
  schedule.hold_max = Micros(random.Between(1'000, random.OneIn(4) ? 10'000'000 : 2'500'000));
  schedule.wait_max = Millis(random.Between(100, 20'000));
  schedule.cancel_one_in = static_cast<int>(random.Between(3, 40));
  schedule.confirm_one_in = static_cast<int>(random.Between(1, 6));
  schedule.careless_one_in = static_cast<int>(random.Between(2, 30));
  schedule.faults_end = Micros(19'500'000);
  schedule.faults = DrawFaults(random.Fork(), schedule.faults_end);
  if (random.OneIn(2)) {
    schedule.session_clients = static_cast<int>(random.Between(1, schedule.clients));
    schedule.session_leases = static_cast<int>(random.Between(1, 3));
    AddStreamFaults(random.Fork(), schedule.faults_end, schedule.faults);
  }
  support::Random losses = random.Fork();
  if (losses.OneIn(kLossesOneIn)) {
    AddLosses(losses, schedule);
    if (losses.OneIn(2)) schedule.clinging_one_in = static_cast<int>(losses.Between(1, 4));
  } else {
    const bool clock_set =
        std::any_of(schedule.faults.begin(), schedule.faults.end(),
                    [](const Fault& fault) { return fault.kind == FaultKind::kNodeClockBack; });
    const bool chosen = losses.OneIn(kGuardedOneIn);
    schedule.guarded = clock_set || chosen;
    if (chosen && !losses.OneIn(4)) AddNudges(losses, schedule);
  }
  std::stable_sort(schedule.faults.begin(), schedule.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.at < b.at; });
  return schedule;
}

Schedule DrawEvenWithAll(uint64_t seed) {
  Schedule schedule = DrawEven(seed);
  support::Random random(~seed);
  if (random.OneIn(5)) schedule.hold_at_least = Millis(random.Between(1, 6'000));
  if (random.OneIn(8)) AddReplicas(schedule, random);
  schedule.restores = HasFailover(schedule) && random.OneIn(2);
  return schedule;
}

}  // namespace lockkeeper::simulation
