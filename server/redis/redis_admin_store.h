// SPDX-License-Identifier: Apache-2.0
//
// The admin store on one Redis node: reads records by SCAN and inspect.lua, and forces releases by
// force_release.lua. It shares the operation queue of RedisLockStore, so that a forced release
// keeps its place among the other operations on the lock.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/call_deadlines.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_store.h"
#include "redis/guard/store_guard.h"
#include "redis/lease_proofs.h"
#include "redis/node/node.h"
#include "redis/operation_queue.h"

namespace lockkeeper::redis {

// Contract: see core::AdminStore. Lifetime: borrows its collaborators.
class RedisAdminStore : public core::AdminStore {
 public:
  // `request_timeout`: see core::CallDeadlines.
  RedisAdminStore(Node& node, StoreGuard& guard, OperationQueue& queue, LeaseProofs& proofs,
                  const core::Clock& clock, core::Executor& executor, core::Millis request_timeout);

  void Get(const std::string& name, core::Instant deadline,
           core::Done<std::optional<core::LockInfo>> done) override;
  void List(const core::ListRequest& request, core::Done<core::LockPage> done) override;
  void ForceRelease(const core::ForceReleaseRequest& request,
                    core::Done<core::ForceReleaseAnswer> done) override;
  void EndQuarantine(const core::EndQuarantineRequest& request,
                     core::Done<core::EndQuarantineAnswer> done) override;

 private:
  struct Listing;
  void Scan(std::shared_ptr<Listing> listing);
  void OnScanned(std::shared_ptr<Listing> listing, absl::StatusOr<Reply> reply);
  void InspectNext(std::shared_ptr<Listing> listing);

  Node& node_;
  StoreGuard& guard_;
  OperationQueue& queue_;
  LeaseProofs& proofs_;
  const core::Clock& clock_;
  core::Executor& executor_;
  const core::CallDeadlines deadlines_;
};

}  // namespace lockkeeper::redis
