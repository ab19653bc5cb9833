// SPDX-License-Identifier: Apache-2.0
//
// Restores what this daemon has told its clients, in an epoch that began because the store may have
// forgotten some of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/executor.h"
#include "redis/operation_queue.h"
#include "redis/told_leases.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class LeaseRestorer {
 public:
  using OnRestored = std::function<void(int64_t epoch)>;

  // `on_restored` runs when all that was told is in the store.
  LeaseRestorer(ToldLeases& told, OperationQueue& queue, const core::Clock& clock,
                core::Executor& executor, OnRestored on_restored);

  // What is under way for an earlier epoch does not count any more.
  void Restore(int64_t epoch);

 private:
  void Submit(int64_t epoch, std::vector<ToldLease> leases);
  void OnAnswered(int64_t epoch);

  ToldLeases& told_;
  OperationQueue& queue_;
  const core::Clock& clock_;
  core::Executor& executor_;
  const OnRestored on_restored_;
  int64_t epoch_ = 0;              // Of what is under way.
  size_t under_way_ = 0;           // Leases of it that the store has not answered,
  std::vector<ToldLease> failed_;  // and those that have to be tried again.
  std::unique_ptr<core::Timer> again_;
};

// The arguments of reassert.lua for one lease that is restored at `now`.
CommandPart RestoringArguments(const ToldLease& lease, core::Instant now);

}  // namespace lockkeeper::redis
