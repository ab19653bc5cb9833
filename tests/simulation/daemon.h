// SPDX-License-Identifier: Apache-2.0
//
// One simulated daemon: the real domain over a simulated link, with the real store on Redis or with
// a store in memory. In place of gRPC it has calls, which can be cancelled, and whose answers may
// not arrive.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/domain.h"
#include "core/lock_observer.h"
#include "redis/guard/node_guard.h"
#include "redis/redis_store.h"
#include "simulation/judge.h"
#include "simulation/line_watch.h"
#include "simulation/memory_link.h"
#include "simulation/memory_watch.h"
#include "simulation/process.h"
#include "simulation/sentinels.h"
#include "simulation/session_server.h"
#include "simulation/store_link.h"
#include "support/manual_executor.h"
#include "support/silent_guard_observer.h"

namespace lockkeeper::simulation {

// Least that the configuration allows: as long as a line is kept, and as an answer can be repeated.
inline constexpr core::Millis kRecordRetention{60'000};

// The longest that the configuration lets a lock be closed by one lease.
inline constexpr core::Millis kCeilingMax{7'000};

// A call that takes longer to the store is not executed any more.
inline constexpr core::Millis kCallLifetime{1'000};
inline constexpr core::Millis kFirstUseWait{3'000};

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
    support::RedisModel& server;  // To which it connects first.
    const core::Clock& clock;
    support::ManualExecutor& executor;
    Judge& judge;
    LineWatch& watch;
    bool guarded;
    bool restores;
    const Replicas& replicas;
    MessageOrder* order = nullptr;  // Null: as chance has it.
    // Those who say which server is the primary, and the servers in the order of promotion. Null:
    // there is only one.
    const Sentinels* sentinels = nullptr;
    const std::vector<std::unique_ptr<support::RedisModel>>* servers = nullptr;
    MemoryWatch* memory = nullptr;  // The store, if it is not Redis.
  };

  // `number` is that of this start.
  Daemon(const World& world, uint64_t number, support::Random random);
  ~Daemon();

  // `reply` runs at most once; not at all if the call is cancelled, or the daemon dies, before.
  void Acquire(const CallPtr& call, core::AcquireRequest request, Reply<core::AcquireAnswer> reply);
  void Extend(const CallPtr& call, core::ExtendRequest request, Reply<core::Lease> reply);
  void Release(const CallPtr& call, core::ReleaseRequest request, Reply<core::ReleaseAnswer> reply);
  void Fence(const CallPtr& call, core::FenceRequest request, Reply<core::FenceAnswer> reply);
  void Cancel(const CallPtr& call);

  // A session over `stream`. Requires: it does not drain.
  std::shared_ptr<SessionServer> OpenSession(StreamToClient& stream);
  bool is_draining() const { return draining_; }
  // Sessions that are still there.
  size_t remaining_sessions() const;

  // An administrator asks it to end the quarantine of this epoch. Requires: a guard.
  void EndQuarantine(int64_t epoch);

  // A Sentinel announces a failover.
  void HearOfFailover();

  void StartDraining();
  // It ends in order, and answers nobody any more.
  void Leave();
  void Kill();
  Process& process() { return process_; }
  Link& link() { return *link_; }
  // Requires of these and what follows, up to the id: the store is Redis.
  StoreLink& redis_link() { return static_cast<StoreLink&>(*link_); }
  // Whether it has looked at the store, and will notice what becomes of it. Requires: a guard.
  bool knows_store() const { return epoch() > 0; }
  int64_t epoch() const { return guard().trust().epoch; }
  // The longest lease of the store that it knows of. Requires: a guard.
  core::Millis longest_lease() const { return guard().proof_basis().longest_lease; }
  // Whether a call of it is being sent again, behind its script. False if the store is in memory.
  bool loads_script() { return world_.memory == nullptr && redis_link().LoadsScript(); }
  // Whether it tells that a store with this life is an older one.
  bool KnowsMoreThan(const Life& older) const;
  // As records name it, 16 digits.
  const std::string& id() const { return id_; }
  uint64_t number() const { return number_; }
  size_t outstanding() const { return domain_->locks().outstanding() + domain_->locks().waiting(); }

 private:
  class Observer;

  void UseRedis(support::Random random);
  void UseMemory(support::Random random);
  void WatchSentinels(support::Random random);

  // Requires: a guard.
  redis::NodeGuard& guard() const { return static_cast<redis::NodeGuard&>(store_->guard()); }

  template <typename T>
  core::Done<T> Answering(const CallPtr& call, Reply<T> reply);

  const World world_;
  const uint64_t number_;
  const std::string id_;
  Process process_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<PrimaryWatch> primary_watch_;  // Null without Sentinels.
  std::unique_ptr<core::LockObserver> observer_;
  support::SilentGuardObserver guard_observer_;  // The judge sees what guards do in the store.
  std::unique_ptr<redis::RedisStore> store_;     // Null: it is in memory.
  std::unique_ptr<core::Domain> domain_;
  uint64_t next_keeper_ = 1;
  struct OpenAcquire {
    std::string name;
    core::LeaseId lease_id;
    core::Keeper keeper;
  };
  std::map<uint64_t, OpenAcquire> acquires_;  // By call.
  std::vector<std::shared_ptr<SessionServer>> sessions_;
  bool draining_ = false;
};

}  // namespace lockkeeper::simulation
