// SPDX-License-Identifier: Apache-2.0
//
// Whether this daemon serves, and if not, why: whether it reaches its store, whether new leases may
// be granted, and whether the daemon drains. gRPC health, /readyz, the metrics and GetServerInfo
// read it here. Logs each change once, however many attempts to connect there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "core/types.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "telemetry/store_status.h"

namespace lockkeeper::telemetry {

struct Health {
  StoreStatus store;
  bool draining = false;
  bool loop_turns = true;             // Else requests get no answer.
  std::vector<std::string> given_up;  // The promises that settings give up, one sentence each.
  // Why audit records cannot be written, and what that means, in one line. Empty if they can.
  std::string audit_problem;

  // What an operator should know even while the daemon is ready: the promises that are given up,
  // and a store that is not durable.
  std::vector<std::string> notes() const;

  // Ready for requests.
  bool serving() const { return store.reachable && store.looked && loop_turns && !draining; }
  // Why it is not serving, in one line; empty if it is.
  std::string problem() const;

  // Whether new leases are granted. A daemon that only extends leases is serving() too, because
  // holders need it.
  bool granting() const { return serving() && store.grants; }

  bool operator==(const Health&) const = default;
};

using HealthListener = absl::AnyInvocable<void(const Health&)>;

class HealthBoard;

// Keeps a listener on the board. After its destructor has returned, the listener is no longer
// called. The destructor waits for a running call, so a listener must not destroy its own
// subscription.
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
  HealthBoard* board_;  // Null if moved from.
  uint64_t number_;
};

// Thread-safety: thread-safe. Lifetime: borrows `metrics` and the logger's log.
class HealthBoard {
 public:
  HealthBoard(Logger logger, Metrics& metrics);

  // Sets Health::given_up.
  void ReportGivenUp(std::vector<std::string> given_up);

  // Changes Health::store. Its connections and its guard report separately: each sets what it
  // knows.
  void ReportStore(absl::FunctionRef<void(StoreStatus&)> change);

  // The daemon has looked at the store, which it does about once a second. That is no change.
  void ReportLook(const StoreLook& look);

  // Sets Health::loop_turns.
  void ReportLoop(bool turns);

  // Sets Health::audit_problem.
  void ReportAudit(std::string problem);

  // The daemon is about to stop. This cannot be undone.
  void StartDraining();

  Health Current() const;

  // Nothing while the store is away, or was not looked at since it came back.
  std::optional<StoreLook> LastLook() const;

  // Calls `listener` with the current health, and then with each change, in order, on the thread
  // that reports the change, until the subscription is destroyed. `listener` must not block or call
  // this board.
  HealthSubscription Subscribe(HealthListener listener);

 private:
  friend class HealthSubscription;

  enum class Logged { kNothing, kUp, kDown };

  void Unsubscribe(uint64_t number);
  // Changes the health and notifies the listeners.
  template <typename Change>
  void Make(Change change);
  // The next three with `changing_` held.
  void Update(Health after);
  void LogStore(const StoreStatus& before, const StoreStatus& after);
  void WarnIfNotDurable(core::Assurance assurance);
  void LogLoop(bool turns);

  const Logger logger_;
  const Gauge store_up_;
  const Gauge draining_gauge_;
  const Gauge loop_stuck_;
  const Gauge granting_;
  const Gauge epoch_;
  const Gauge quarantine_end_;

  // Held while a change is made and the listeners are notified, so that they hear changes in order.
  // Locked before `mutex_`. Guards the next five.
  std::mutex changing_;
  std::map<uint64_t, HealthListener> listeners_;  // By subscription number.
  uint64_t next_subscription_ = 0;
  Logged logged_ = Logged::kNothing;
  core::Assurance warned_of_ = core::Assurance::kNone;  // The assurance that was last checked.
  LogLimit problem_limit_;

  // Held only while the health is copied, so that readers do not wait for listeners. Guards the
  // next two.
  mutable std::mutex mutex_;
  Health health_;
  std::optional<StoreLook> look_;
};

}  // namespace lockkeeper::telemetry
