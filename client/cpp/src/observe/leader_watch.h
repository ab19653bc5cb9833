// SPDX-License-Identifier: Apache-2.0
//
// Follows the leader of one lock: keeps a watch open at one of the daemons, looks when LeaderRules
// says so, and tells the caller what comes of it.
//
// Phase     | until
// following | the stream ends or a look fails, which is an error of this daemon
// pausing   | the delay is over: then it follows at the next daemon
// closed    |
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "lockkeeper/leader_observer.h"
#include "observe/leader_rules.h"
#include "observe/watch_calls.h"
#include "renewal/backoff.h"
#include "renewal/scheduler.h"

namespace lockkeeper::client {

// Time between two looks, if nothing happens: a look repairs whatever was missed.
inline constexpr Duration kLookInterval = std::chrono::seconds(10);
// How long the first look waits for the stream to start. A daemon says within 2 s that it has; a
// proxy may pass no stream on.
inline constexpr Duration kStartTimeout = std::chrono::seconds(5);

// Lifetime: borrows.
struct WatchPorts {
  WatchCalls& calls;
  const Clock& clock;
  Scheduler& scheduler;
  Jitter& jitter;
};

// Thread-safety: thread-safe. Lifetime: borrows the ports and `options` until WaitUntilGone has
// returned.
class LeaderWatch : public std::enable_shared_from_this<LeaderWatch> {
 public:
  // Runs the callbacks that it is given, one after the other, and never before it returned.
  using RunCallback = std::function<void(absl::AnyInvocable<void() &&> callback)>;

  LeaderWatch(const WatchPorts& ports, std::string name, const ObserveOptions& options,
              RunCallback run_callback);

  // Called once.
  void Start();

  // As LeaderObserver.
  std::optional<Leader> leader() const;
  void Close();

  // Waits until the last call to a daemon has ended. Requires: Close was called.
  void WaitUntilGone();

 private:
  // What the caller is to be told.
  using News = std::variant<std::optional<Leader>, absl::Status>;
  using Lock = std::unique_lock<std::mutex>;

  // Calls carry the number of the attempt that they belong to; late ones are ignored.
  void OnEvents(uint64_t attempt, const std::vector<LockEvent>& events);
  void OnEnd(uint64_t attempt, const absl::Status& why);
  void OnLooked(uint64_t attempt, const absl::StatusOr<LockLook>& looked);
  void OnTimer();
  void TellAll();
  void Tell(const News& news) const;

  // Requires of these: mutex_ held.
  void Take(const LeaderRules::Outcome& outcome);
  void Add(News news);
  void Follow();
  void Look();
  void Leave(const absl::Status& why);
  void LetGo();
  void SetTimer(Instant at);

  // Does what is to be done now, the calls without the mutex.
  void Advance(Lock lock);
  // The last thing that an ended call does here: the ports may be gone afterwards.
  void CallEnded();

  const WatchPorts ports_;
  const std::string name_;
  const ObserveOptions& options_;
  const RunCallback run_callback_;

  mutable std::mutex mutex_;
  std::condition_variable call_ended_;
  LeaderRules rules_;  // Guarded by mutex_, as all below.
  size_t daemon_;      // At which it follows.
  uint64_t attempt_ = 0;
  int failures_ = 0;  // In a row.
  bool closed_ = false;
  bool pausing_ = false;
  std::shared_ptr<WatchStream> stream_;  // Null if it does not follow.
  bool has_started_ = false;
  bool reading_ = false;
  std::shared_ptr<LookCall> look_;  // Null if none is in flight.
  bool must_look_ = false;
  Scheduler::TimerId timer_ = Scheduler::kNoTimer;  // Ends the pause, or asks for a look.
  Instant timer_at_;
  std::deque<News> news_;                             // The first one is being told.
  size_t calls_ = 0;                                  // In flight, those of earlier attempts too.
  std::vector<absl::AnyInvocable<void() &&>> to_do_;  // Once the mutex is free.
};

}  // namespace lockkeeper::client
