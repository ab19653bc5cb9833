// SPDX-License-Identifier: Apache-2.0
//
// What a store under test stands on: one Redis server and any number of daemons that use it. There
// is one with the in-process server in virtual time and one with a real redis-server; the suite
// cannot tell which it has. The server's clock stands still in both until the test moves it. With a
// guard, the daemons' clock stands still too, for a guard compares the two.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/lock_store.h"
#include "redis/format/key_layout.h"
#include "redis/guard/guard_observer.h"
#include "redis/redis_store.h"
#include "support/guard_options.h"
#include "support/trusting_guard.h"

namespace lockkeeper::support {

// How long the store keeps records in these tests.
inline constexpr core::Millis kRetention{60'000};

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

class StoreWorld {
 public:
  virtual ~StoreWorld() = default;

  // The first daemon is there from the beginning; others are made when they are asked for, by the
  // test's thread.
  virtual Daemon& daemon(size_t index) = 0;

  // Runs `task` on the daemons' thread and waits for it.
  virtual void OnLoop(absl::FunctionRef<void()> task) = 0;

  // Lets the daemons work until `answered` holds, which is asked on the caller's thread. False if
  // it does not within a time that is long for everything.
  virtual bool Await(absl::FunctionRef<bool()> answered) = 0;

  // The daemons' clock.
  virtual core::Instant Now() = 0;

  // The server's clock, and moving it, back too.
  virtual core::NodeTime NodeNow() = 0;
  virtual void StepNodeClock(core::Micros step) = 0;

  // With a guard: moves the server's clock and the daemons'.
  virtual void LetTimePass(core::Micros time) = 0;

  // Runs a command on the server, around the daemons.
  virtual redis::Reply Run(const std::vector<std::string_view>& words) = 0;
};

// A kind of world that the suite runs on.
struct WorldKind {
  std::string name;
  std::function<std::unique_ptr<StoreWorld>()> make;
};

inline void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }

// The kinds that this machine can have.
std::vector<WorldKind> WorldKinds(Guarding guarding = Guarding::kNone);

}  // namespace lockkeeper::support
