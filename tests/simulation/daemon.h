// SPDX-License-Identifier: Apache-2.0
//
// One simulated daemon: the real domain and the real store over a simulated link. In place of gRPC
// it has calls, which can be cancelled, and whose answers may not arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/line.h"
#include "core/lock_manager.h"
#include "core/lock_observer.h"
#include "redis/operation_queue.h"
#include "redis/redis_lock_store.h"
#include "redis/token_floor.h"
#include "simulation/process.h"
#include "simulation/store_link.h"

namespace lockkeeper::simulation {

// One rpc, as the daemon sees it.
struct Call {
  uint64_t id = 0;
  bool cancelled = false;  // The caller is gone, or does not wait for the answer any more.
  bool answered = false;
};
using CallPtr = std::shared_ptr<Call>;

template <typename T>
using Reply = std::function<void(absl::StatusOr<T>)>;

class Daemon {
 public:
  struct World {
    support::RedisModel& server;
    const core::Clock& clock;
    core::Executor& executor;
    ExecutionListener on_executed;
    // An acquire of this lease id has its answer: nobody waits in its place any more.
    std::function<void(const std::string& lock, const core::LeaseId& lease_id)> on_answered;
  };

  // `index` is its place in the deployment, `id` that of this start.
  Daemon(const World& world, int index, uint64_t id, support::Random random);
  ~Daemon();

  // `reply` runs at most once; not at all if the call is cancelled, or the daemon dies, before.
  void Acquire(const CallPtr& call, core::AcquireRequest request, Reply<core::AcquireAnswer> reply);
  void Extend(const CallPtr& call, core::ExtendRequest request, Reply<core::Lease> reply);
  void Release(const CallPtr& call, core::ReleaseRequest request, Reply<core::ReleaseAnswer> reply);
  void Cancel(const CallPtr& call);

  void StartDraining();
  void Kill();
  bool dead() const { return process_.dead(); }
  Process& process() { return process_; }
  StoreLink& link() { return link_; }
  int index() const { return index_; }
  size_t outstanding() const { return manager_->outstanding() + manager_->waiting(); }

 private:
  class Observer;

  const World world_;
  const int index_;
  const uint64_t id_;
  Process process_;
  StoreLink link_;
  redis::TokenFloor token_floor_;
  std::unique_ptr<core::LockObserver> observer_;
  std::unique_ptr<redis::OperationQueue> queue_;
  std::unique_ptr<redis::RedisLockStore> store_;
  std::unique_ptr<core::LockManager> manager_;
  uint64_t next_keeper_ = 1;
  struct OpenAcquire {
    std::string name;
    core::Keeper keeper;
  };
  std::map<uint64_t, OpenAcquire> acquires_;  // By call.
};

}  // namespace lockkeeper::simulation
