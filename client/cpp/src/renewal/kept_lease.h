// SPDX-License-Identifier: Apache-2.0
//
// One lease that the client renews: carries out what LeaseLife decides, and notifies the holder.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "earlier_failure.h"
#include "renewal/backoff.h"
#include "renewal/callback_thread.h"
#include "renewal/lease_calls.h"
#include "renewal/lease_life.h"
#include "renewal/scheduler.h"

namespace lockkeeper::client {

// What keeping leases needs. All of it outlives the leases' timers and calls.
struct KeepingPorts {
  const Clock& clock;
  Scheduler& scheduler;
  LeaseCalls& calls;
  CallbackThread& callbacks;
  Jitter& jitter;
};

// Thread-safety: thread-safe.
class KeptLease : public std::enable_shared_from_this<KeptLease> {
 public:
  enum class State {
    kHeld,
    kLostInTime,  // The end came near and no extend was answered. The lease may still be live.
    kLostByWord,  // The server said LEASE_LOST.
    kDropped,     // The holder wants no more renewals and no more callbacks.
  };

  // Begins to renew. Each extend asks for `extend_ttl`, or, if it is empty, for the ttl as granted.
  static std::shared_ptr<KeptLease> Keep(const KeepingPorts& ports, LeaseRef lease,
                                         const LeaseLife& life, std::optional<Duration> extend_ttl);

  ~KeptLease() = default;
  KeptLease(const KeptLease&) = delete;
  KeptLease& operator=(const KeptLease&) = delete;

  // The lease as it was granted. reassertion() has the newest proof.
  const LeaseRef& ref() const { return lease_; }
  std::string reassertion();
  bool lost();
  Loss loss();
  Duration remaining();
  // As in Lease.
  void OnLost(absl::AnyInvocable<void() &&> callback);
  void OnExtended(absl::AnyInvocable<void()> callback);
  std::stop_token stop_token() const { return stop_.get_token(); }

  // The service says, without being asked, that the lease has ended.
  void Ended(const absl::Status& why);

  // Ends renewing. From now on no callback begins and lost() does not change; the answer to an
  // extend in flight is ignored. Returns the previous state.
  State Drop();

  // Waits until no callback runs, unless it is called from one. Requires: Drop was called.
  void WaitForCallbacks();

 private:
  using ExtendedCallback = std::shared_ptr<absl::AnyInvocable<void()>>;

  KeptLease(const KeepingPorts& ports, LeaseRef lease, const LeaseLife& life,
            std::optional<Duration> extend_ttl);

  void OnTimer();
  void SendExtend(Duration timeout);
  void OnExtendAnswered(Instant sent, const ExtendAnswer& answer);
  // Runs the due callbacks. On the callback thread.
  void RunCallbacks();
  // Requires of the next six: mutex_ held.
  void PostCallbacks();
  bool LoseIfDue(Instant now);
  bool was_lost() const { return loss_.cause != LossCause::kNotLost; }
  void Lose(State state);
  Loss LossNow() const;
  void Reschedule();

  const KeepingPorts ports_;
  const LeaseRef lease_;
  const std::optional<Duration> extend_ttl_;
  std::stop_source stop_;

  std::mutex mutex_;
  LeaseLife life_;  // Guarded by mutex_, as all below.
  std::string reassertion_;
  State state_ = State::kHeld;
  absl::Status last_error_;  // Of the latest extend that was answered. OK if it succeeded.
  EarlierFailure earlier_;   // Of the extends since one succeeded.
  Loss loss_;                // Once it is lost.
  Scheduler::TimerId timer_ = Scheduler::kNoTimer;
  std::vector<absl::AnyInvocable<void() &&>> on_lost_;
  ExtendedCallback on_extended_;
  bool extended_due_ = false;
  bool callback_running_ = false;
  std::condition_variable callback_ended_;
};

}  // namespace lockkeeper::client
