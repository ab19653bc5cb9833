// SPDX-License-Identifier: Apache-2.0
//
// Whether this daemon serves, and if not why: whether it reaches its store, whether the store may
// be granted from, whether the daemon drains. gRPC health, /readyz, the metrics and GetServerInfo
// read it here. Logs each change once, however often a connection is tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/types.h"
#include "telemetry/grant_health.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::telemetry {

struct StoreHealth {
  bool reachable = false;
  std::string problem = "not connected yet";  // For people; empty if reachable.
  std::string server_version;                 // Empty if never reached.
  core::Assurance assurance = core::Assurance::kNone;

  bool operator==(const StoreHealth&) const = default;
};

struct Health {
  StoreHealth store;
  GrantHealth grants;
  bool draining = false;
  std::vector<std::string> given_up;  // Promises that settings give up, a sentence each.

  // What an operator should know although all is well: what is given up, and that the store
  // forgets.
  std::vector<std::string> notes() const;

  // Ready for requests.
  bool serving() const { return store.reachable && grants.looked && !draining; }
  // Why it is not serving, in one line; empty if it is.
  std::string problem() const;

  // New leases are granted. A daemon that only extends serves all the same: holders need it.
  bool granting() const { return serving() && grants.granting; }

  bool operator==(const Health&) const = default;
};

using HealthListener = absl::AnyInvocable<void(const Health&)>;

class HealthBoard;

// Keeps a listener on the board. Once its destructor returned, the listener is not called any more;
// it waits for a call that is under way, so a listener must not destroy its own subscription.
//
// Thread-safety: thread-compatible. Lifetime: borrows the board.
class [[nodiscard]] HealthSubscription {
 public:
  HealthSubscription(HealthBoard& board, uint64_t number) : board_(&board), number_(number) {}
  ~HealthSubscription();
  HealthSubscription(const HealthSubscription&) = delete;
  HealthSubscription& operator=(const HealthSubscription&) = delete;
  HealthSubscription(HealthSubscription&& other) noexcept
      : board_(std::exchange(other.board_, nullptr)), number_(other.number_) {}
  HealthSubscription& operator=(HealthSubscription&&) = delete;

 private:
  HealthBoard* board_;  // Null after it was moved from.
  uint64_t number_;
};

// Thread-safety: thread-safe. Lifetime: borrows `metrics` and the logger's log.
class HealthBoard {
 public:
  HealthBoard(Logger logger, Metrics& metrics);

  // What Health::given_up says from now on.
  void ReportGivenUp(std::vector<std::string> given_up);

  // What Health::store and Health::grants say from now on.
  void ReportStore(StoreHealth health);
  void ReportGrants(GrantHealth health);

  // The daemon is about to stop. There is no way back.
  void StartDraining();

  Health Current() const;

  // Calls `listener` with the present health, and then with each change, in order, on the thread
  // that reports it, as long as the subscription lives. It must not block or call this board.
  HealthSubscription Subscribe(HealthListener listener);

 private:
  friend class HealthSubscription;

  enum class Logged { kNothing, kUp, kDown };

  void Unsubscribe(uint64_t number);
  // Changes the health and tells it.
  template <typename Change>
  void Make(Change change);
  // The next three with `changing_` held.
  void Update(Health after);
  void LogStore(const StoreHealth& before, const StoreHealth& after);
  void WarnIfNotDurable(core::Assurance assurance);

  const Logger logger_;
  const Gauge store_up_;
  const Gauge draining_gauge_;
  const Gauge granting_;
  const Gauge epoch_;
  const Gauge quarantine_end_;

  // Held while a change is made and told, so that listeners hear changes in order. Taken before
  // `mutex_`. Guards the next five.
  std::mutex changing_;
  std::map<uint64_t, HealthListener> listeners_;  // By the number of their subscription.
  uint64_t next_subscription_ = 0;
  Logged logged_ = Logged::kNothing;
  core::Assurance warned_of_ = core::Assurance::kNone;  // What was looked at last.
  LogLimit problem_limit_;

  // Held for copying only, so that readers do not wait for listeners. Guards the next one.
  mutable std::mutex mutex_;
  Health health_;
};

}  // namespace lockkeeper::telemetry
