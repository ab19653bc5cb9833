// SPDX-License-Identifier: Apache-2.0
//
// The record of a lock, as administrators see it.
#include <string>

#include "core/limits.h"
#include "fuzz/target.h"
#include "redis/format/lock_record.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using lockkeeper::core::LockState;
  using lockkeeper::fuzz::Require;
  using lockkeeper::redis::Doubt;
  const auto record = lockkeeper::fuzz::TextOf(data, size);
  const lockkeeper::core::NodeTime now{1'795'444'131'000'000};
  for (const Doubt doubt : {Doubt::kNone, Doubt::kMayBeProved, Doubt::kNotProvedInTime}) {
    const auto info = lockkeeper::redis::ReadRecord("orders/7", record, now, doubt);
    if (!info.ok() || !info->has_value()) continue;
    const lockkeeper::core::LockInfo& lock = **info;
    Require(lock.name == "orders/7", "the lock has its name");
    Require(lock.token.value >= 0 && lock.waiters >= 0, "numbers are not negative");
    Require(lock.ttl.count() >= 0 && lock.lock_delay.count() >= 0 && lock.max_hold.count() >= 0 &&
                lock.hold_at_least.count() >= 0,
            "durations are not negative");
    Require(lock.remaining_ttl.count() >= 0 && lock.closed_for.count() >= 0,
            "what remains is not negative");
    Require(doubt == Doubt::kNone || lock.state != LockState::kHeld,
            "nothing in doubt is called held");
  }
  return 0;
}
