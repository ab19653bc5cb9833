// SPDX-License-Identifier: Apache-2.0
//
// The worlds of the store on Redis: one with the in-process server in virtual time and one with a
// real redis-server. With a guard, the daemons' clock stands still too, for a guard compares it
// with the server's.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "contract/store_world.h"
#include "redis/format/key_layout.h"
#include "redis/guard/guard_observer.h"
#include "redis/redis_store.h"
#include "support/guard_options.h"
#include "support/trusting_guard.h"

namespace lockkeeper::support {

// Whether losses of the server's state are noticed.
enum class Guarding { kNone, kGuarded };

// Counts what guards notice.
class CountingObserver final : public redis::GuardObserver {
 public:
  void OnFirstUse(const redis::StoreTrust&) override {}
  void OnLoss(redis::LossKind kind, const redis::StoreTrust&) override { losses.push_back(kind); }
  void OnNewEpoch(const redis::StoreTrust&) override {}
  void OnTrustChanged(const redis::StoreTrust&) override {}

  std::vector<redis::LossKind> losses;
};

// The store of one daemon.
struct Daemon {
  Daemon(redis::Node& node, const core::Clock& clock, core::Executor& executor,
         const std::string& daemon_id, Guarding guarding)
      : store(Build(guarding, node, clock, executor, StoreOptionsOf(daemon_id))),
        locks(store->locks()),
        line(store->line()),
        admin(store->admin()) {}

  CountingObserver noticed;
  std::unique_ptr<redis::RedisStore> store;
  core::LockStore& locks;
  core::WaitingLine& line;
  core::AdminStore& admin;

 private:
  std::unique_ptr<redis::RedisStore> Build(Guarding guarding, redis::Node& node,
                                           const core::Clock& clock, core::Executor& executor,
                                           redis::RedisStoreOptions options) {
    options.record_retention = kRetention;
    if (guarding == Guarding::kNone) {
      return std::make_unique<redis::RedisStore>(node, clock, executor, noticed, options,
                                                 std::make_unique<TrustingGuard>());
    }
    return std::make_unique<redis::RedisStore>(node, clock, executor, noticed, options);
  }
};

class RedisWorld : public StoreWorld {
 public:
  virtual Daemon& daemon(size_t index) = 0;

  // With a guard: moves the server's clock and the daemons'.
  virtual void LetTimePass(core::Micros time) = 0;

  // Runs `task` on the daemons' thread, while no call of theirs is under way: to them it is one
  // step.
  virtual void BetweenCalls(absl::FunctionRef<void()> task) = 0;

  // Runs a command on the server, around the daemons.
  virtual redis::Reply Run(const std::vector<std::string_view>& words) = 0;

  Ports ports(size_t index) override {
    Daemon& asked = daemon(index);
    return {asked.locks, asked.admin, &asked.line};
  }
  bool IsKept(const std::string& name) override {
    return Run({"EXISTS", KeyOf(name)}).integer == 1;
  }
  std::string RecordOf(const std::string& name) override { return Run({"GET", KeyOf(name)}).text; }
  void ForgetEverything() override { Run({"FLUSHALL"}); }

  // Where the record of a lock is on the server.
  static std::string KeyOf(const std::string& name) { return "lk:{" + name + "}"; }
};

// The kinds that this machine can have.
std::vector<WorldKind> RedisWorldKinds(Guarding guarding = Guarding::kNone);

}  // namespace lockkeeper::support
