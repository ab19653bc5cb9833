// SPDX-License-Identifier: Apache-2.0
#include "simulation/small_scope.h"

#include <algorithm>
#include <string>

#include "simulation/message_order.h"
#include "simulation/swarm.h"
#include "support/random.h"

namespace lockkeeper::simulation {
namespace {

using core::Millis;

constexpr int64_t kOrderFromMin = 20'000;
constexpr int64_t kOrderFromMax = 400'000;
constexpr Micros kLastsOn{100'000};
constexpr Micros kAroundFault{4'000};

std::string OrderOf(unsigned depth, uint64_t number) {
  constexpr uint64_t kChoices = MessageOrder::kDelays.size();
  std::string order;
  for (; depth > 0; --depth, number /= kChoices) {
    order += static_cast<char>('0' + static_cast<int>(number % kChoices));
  }
  return order;
}

}  // namespace

uint64_t OrdersOf(unsigned depth) {
  uint64_t orders = 1;
  for (; depth > 0; --depth) orders *= MessageOrder::kDelays.size();
  return orders;
}

Schedule DrawSmallScope(uint64_t seed, unsigned depth, uint64_t number) {
  support::Random random(seed);
  Schedule schedule;
  schedule.seed = random.Bits();
  schedule.entrances = random.OneIn(2) ? 1 : 2;
  schedule.balanced = random.OneIn(2);
  schedule.session_clients = static_cast<int>(random.Below(3));
  schedule.ttl = Millis(Spread(random, 500, 2'000));
  if (random.OneIn(4)) schedule.lock_delay = Millis(Spread(random, 1, 200));
  schedule.scripts_loaded = !random.OneIn(4);
  schedule.guarded = false;
  // The two meet all the time.
  schedule.think_max = Micros(Spread(random, 5'000, 200'000));
  schedule.hold_max = Micros(Spread(random, 1'000, 200'000));
  schedule.wait_max = Millis(Spread(random, 100, 2'000));
  schedule.cancel_one_in = static_cast<int>(Spread(random, 1, 8));
  schedule.confirm_one_in = static_cast<int>(Spread(random, 1, 4));
  schedule.careless_one_in = static_cast<int>(Spread(random, 1, 16));
  schedule.order_from = Micros(random.Between(kOrderFromMin, kOrderFromMax));
  schedule.faults_end = schedule.order_from + kLastsOn;
  if (!random.OneIn(3)) {
    Fault fault = DrawFault(schedule, random);
    fault.at =
        schedule.order_from + Micros(random.Between(-kAroundFault.count(), kAroundFault.count()));
    schedule.faults.push_back(fault);
  }
  schedule.order = OrderOf(depth, number);
  Normalize(schedule);
  if (random.OneIn(4)) schedule.hold_at_least = Millis(Spread(random, 1, 400));
  if (random.OneIn(6)) AddReplicas(schedule, random);
  return schedule;
}

}  // namespace lockkeeper::simulation
