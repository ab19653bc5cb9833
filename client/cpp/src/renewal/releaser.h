// SPDX-License-Identifier: Apache-2.0
//
// Releases leases. Retries until there is an answer, in the background if the caller does not wait
// that long.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/statusor.h"
#include "earlier_failure.h"
#include "lockkeeper/lease.h"
#include "renewal/backoff.h"
#include "renewal/lease_calls.h"
#include "renewal/scheduler.h"

namespace lockkeeper::client {

// A release in flight. Thread-safety: thread-safe.
class PendingRelease {
 public:
  // Waits for the outcome. Nothing if there is none within `timeout`.
  std::optional<absl::StatusOr<ReleaseOutcome>> Wait(Duration timeout);

  // The same, but an error with why the attempts failed so far if there is none.
  absl::StatusOr<ReleaseOutcome> WaitOrExplain(Duration timeout);

 private:
  friend class Releaser;
  void Failed(const absl::Status& why);  // One attempt.
  void Finish(absl::StatusOr<ReleaseOutcome> outcome);

  std::mutex mutex_;
  std::condition_variable finished_;
  std::optional<absl::StatusOr<ReleaseOutcome>> outcome_;
  EarlierFailure earlier_;  // Guarded by mutex_.
};

// Longest wait for the answer to one attempt.
inline constexpr Duration kReleaseTryTimeout = std::chrono::seconds(1);

// Releases in flight. Beyond this limit a release has only one attempt; if that fails, the ttl ends
// the lease.
inline constexpr size_t kPendingReleasesMax = 10'000;

// Thread-safety: thread-safe. Lifetime: must outlive the calls and timers that it starts.
class Releaser {
 public:
  Releaser(const Clock& clock, Scheduler& scheduler, LeaseCalls& calls, Jitter& jitter);

  // Releases `lease`, as a part of `trace`. Retries until there is an answer or `give_up_at` has
  // passed. NOT_HOLDER counts as released if an earlier attempt of this release had no answer: that
  // attempt has released it.
  std::shared_ptr<PendingRelease> Release(LeaseRef lease, TraceContext trace, Instant give_up_at);

  // Waits until no release is in flight, but no longer than `timeout`.
  void WaitUntilIdle(Duration timeout);

 private:
  struct Effort;

  void Try(std::shared_ptr<Effort> effort);
  void OnAnswer(std::shared_ptr<Effort> effort, absl::StatusOr<ReleaseOutcome> outcome);

  const Clock& clock_;
  Scheduler& scheduler_;
  LeaseCalls& calls_;
  Jitter& jitter_;
  std::mutex mutex_;
  std::condition_variable idle_;
  size_t pending_ = 0;  // Guarded by mutex_.
};

}  // namespace lockkeeper::client
