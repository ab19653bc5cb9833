// SPDX-License-Identifier: Apache-2.0
//
// What a store under test stands on: one server and any number of daemons that use it. The suite
// cannot tell which store it has. The server's clock stands still until the test moves it, and need
// not have to do with that of the daemons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "core/clock.h"
#include "core/executor.h"
#include "core/lock_store.h"
#include "core/waiting_line.h"

namespace lockkeeper::support {

// How long the store keeps records in these tests.
inline constexpr core::Millis kRetention{60'000};

// What the first daemon is in keepers; the others follow.
inline constexpr uint64_t kFirstDaemon = 1;

// A daemon's store, by its ports.
struct Ports {
  core::LockStore& locks;
  core::AdminStore& admin;
  core::WaitingLine* line;  // Null: the store has none.
};

class StoreWorld {
 public:
  virtual ~StoreWorld() = default;

  // The first daemon is there from the beginning; others are made when they are asked for, by the
  // test's thread.
  virtual Ports ports(size_t daemon) = 0;

  // Runs `task` on the daemons' thread and waits for it.
  virtual void OnLoop(absl::FunctionRef<void()> task) = 0;

  // Lets the daemons work until `answered` holds, which is asked on their thread. False if it does
  // not within a time that is long for everything.
  virtual bool Await(absl::FunctionRef<bool()> answered) = 0;

  // The daemons' clock and thread.
  virtual const core::Clock& clock() = 0;
  virtual core::Executor& executor() = 0;
  core::Instant Now() { return clock().Now(); }

  // The server's clock, and moving it, back too.
  virtual core::NodeTime NodeNow() = 0;
  virtual void StepNodeClock(core::Micros step) = 0;

  // What the server keeps of a lock: anything, and all of it (text to compare).
  virtual bool IsKept(const std::string& name) = 0;
  virtual std::string RecordOf(const std::string& name) = 0;
  // The server loses everything.
  virtual void ForgetEverything() = 0;
};

// A kind of world that the suite runs on.
struct WorldKind {
  std::string name;
  std::function<std::unique_ptr<StoreWorld>()> make;
};

inline void PrintTo(const WorldKind& kind, std::ostream* out) { *out << kind.name; }

// The kinds that this machine can have: a store in memory, and those on Redis.
std::vector<WorldKind> WorldKinds();

}  // namespace lockkeeper::support
