// SPDX-License-Identifier: Apache-2.0
//
// The simulated store in memory: carries out what daemons ask, and tells the judge of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/requests.h"
#include "simulation/store_watch.h"
#include "support/memory_store.h"

namespace lockkeeper::simulation {

class MemoryWatch final : public StoreWatch {
 public:
  MemoryWatch(const core::Clock& clock, Judge& judge, core::Millis retention)
      : StoreWatch(clock, judge), server_(clock, retention) {}

  // See MemoryServer. `daemon` asks. `sent`: when it did; now the request has arrived.
  absl::StatusOr<core::AcquireAnswer> Acquire(const std::string& daemon,
                                              const core::AcquireRequest& request,
                                              core::FencingToken seen, Instant sent);
  absl::StatusOr<core::Lease> Extend(const std::string& daemon, const core::ExtendRequest& request);
  core::ReleaseAnswer Release(const std::string& daemon, const core::ReleaseRequest& request);
  core::WithdrawResult Withdraw(const std::string& daemon, const core::WithdrawRequest& request);
  core::FenceAnswer Fence(const std::string& daemon, const core::FenceRequest& request);

  int64_t KeysInStore() override { return server_.RecordsKept(); }

 private:
  enum class Operation { kAcquire = 1, kExtend, kRelease, kWithdraw, kFence };

  void Carried(Operation operation, const std::string& daemon, const std::string& lock,
               std::string_view who, int outcome);
  void Runs(const std::string& lock, Instant end, Micros lock_delay);

  support::MemoryServer server_;
  std::unordered_map<std::string, core::FencingToken> tokens_;  // Given last, by lock.
};

}  // namespace lockkeeper::simulation
