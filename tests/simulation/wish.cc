// SPDX-License-Identifier: Apache-2.0
#include "simulation/wish.h"

#include <algorithm>
#include <string>

#include "core/errors.h"

namespace lockkeeper::simulation {

using core::Micros;
using core::Millis;

namespace {

constexpr Millis kLastLapWait{60'000};

Millis DrawWait(const Schedule& schedule, support::Random& random) {
  return random.OneIn(4) ? Millis(0) : Millis(random.Between(1, schedule.wait_max.count()));
}

}  // namespace

Wish DrawWish(const Schedule& schedule, Lap lap, int client, support::Random& random) {
  const bool last = lap == Lap::kLast;
  Wish wish;
  wish.lock = last ? 0 : static_cast<int>(random.Below(schedule.locks));
  wish.hold = Micros(random.Between(500, last ? 2'000 : schedule.hold_max.count()));
  core::AcquireRequest& request = wish.request;
  request.name = "lock " + std::to_string(wish.lock);
  request.lease_id = core::LeaseId::FromBits(random.Bits(), random.Bits());
  request.attempt = 1;
  request.ttl = schedule.ttl;
  request.lock_delay = last ? Millis(0) : schedule.lock_delay;
  request.max_hold = schedule.max_hold;
  request.owner = "client " + std::to_string(client);
  request.wait_timeout = last ? kLastLapWait : DrawWait(schedule, random);
  if (random.OneIn(static_cast<uint64_t>(schedule.confirm_one_in))) {
    request.claim = core::ClaimMode::kByClient;
  }
  if (!last && schedule.hold_at_least > Millis(0) && random.OneIn(2)) {
    request.hold_at_least = schedule.hold_at_least;
  }
  if (schedule.assured_one_in > 0 && random.OneIn(static_cast<uint64_t>(schedule.assured_one_in))) {
    request.min_assurance = core::Assurance::kReplicas;
  }
  return wish;
}

bool GoesAgain(const absl::Status& why) {
  return absl::IsUnavailable(why) || core::ReasonOf(why) == core::ErrorReason::kRateLimit;
}

core::Micros PauseAfter(const absl::Status& why, support::Random& random) {
  const Micros pause(random.Between(5'000, 150'000));
  if (core::ReasonOf(why) != core::ErrorReason::kStoreQuarantined) return pause;
  return pause + Micros(core::RetryDelayOf(why).value_or(Millis(0)));
}

}  // namespace lockkeeper::simulation
