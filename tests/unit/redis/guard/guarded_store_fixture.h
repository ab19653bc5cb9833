// SPDX-License-Identifier: Apache-2.0
//
// A lock store on a server that a guard watches, for tests of what is answered around a loss.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/requests.h"
#include "redis/lease_proofs.h"
#include "redis/operation_queue.h"
#include "redis/redis_lock_store.h"
#include "unit/redis/guard/node_guard_fixture.h"

namespace lockkeeper::redis {

class GuardedStoreTest : public NodeGuardTest {
 protected:
  static core::LeaseId Id(uint64_t number) { return core::LeaseId::FromBits(number, number); }

  // The answer, once there is one.
  template <typename T, typename Ask>
  absl::StatusOr<T> Await(Ask ask) {
    std::optional<absl::StatusOr<T>> answer;
    ask([&answer](absl::StatusOr<T> result) { answer = std::move(result); });
    EXPECT_TRUE(
        executor_.AdvanceUntil([&answer] { return answer.has_value(); }, std::chrono::seconds(5)));
    return answer.value_or(absl::InternalError("never answered"));
  }

  core::AcquireRequest AcquireOf(uint64_t id) {
    return {.name = lock_,
            .lease_id = Id(id),
            .ttl = ttl_,
            .hold_at_least = hold_at_least_,
            .principal = "someone",
            .keeper = core::Keeper(1, id),
            .deadline = Deadline()};
  }

  absl::StatusOr<core::AcquireAnswer> Acquire(uint64_t id) {
    return Await<core::AcquireAnswer>([this, id](core::Done<core::AcquireAnswer> done) {
      store_.Acquire(AcquireOf(id), std::move(done));
    });
  }

  absl::StatusOr<core::Lease> Extend(uint64_t id, core::Millis ttl) {
    return Await<core::Lease>([this, id, ttl](core::Done<core::Lease> done) {
      store_.Extend({.name = lock_,
                     .lease_id = Id(id),
                     .ttl = ttl,
                     .principal = "someone",
                     .deadline = Deadline()},
                    std::move(done));
    });
  }

  absl::StatusOr<core::Lease> TakeBack(const core::Lease& lease) {
    return Await<core::Lease>([&](core::Done<core::Lease> done) {
      store_.Extend({.name = lock_,
                     .lease_id = lease.lease_id,
                     .token = lease.token,
                     .reassertion = lease.reassertion,
                     .principal = "someone",
                     .deadline = Deadline()},
                    std::move(done));
    });
  }

  absl::StatusOr<core::ReleaseAnswer> Release(uint64_t id) {
    return Await<core::ReleaseAnswer>([this, id](core::Done<core::ReleaseAnswer> done) {
      store_.Release(
          {.name = lock_, .lease_id = Id(id), .principal = "someone", .deadline = Deadline()},
          std::move(done));
    });
  }

  core::Instant Deadline() const { return clock_.Now() + std::chrono::seconds(4); }

  std::string lock_ = "a";
  core::Millis ttl_{10'000};
  core::Millis hold_at_least_{0};
  Guarded& daemon_ = Another();
  OperationQueue queue_{daemon_.node,
                        daemon_.guard,
                        clock_,
                        executor_,
                        {.record_retention = std::chrono::seconds(60)}};
  LeaseProofs proofs_{clock_, daemon_.guard};
  RedisLockStore store_{
      daemon_.node,     daemon_.guard, queue_,           proofs_,
      /*told=*/nullptr, clock_,        daemon_.observer, {.daemon_id = std::string(16, '1')}};
};

}  // namespace lockkeeper::redis
