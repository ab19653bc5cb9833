// SPDX-License-Identifier: Apache-2.0
//
// The result of an acquire: a lease, or the reason why there is none. A caller that ignores the
// result, or checks the wrong part of it, never believes that it holds the lock.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "lockkeeper/lease.h"

namespace lockkeeper {

// Why the lock was not granted. kClosed: nobody holds it, but it stays closed for a time after its
// last lease, whose holder may still be working. The numbers are those of
// lockkeeper.v1.ContentionReason.
enum class ContentionReason { kHeld = 1, kWaitTimedOut = 2, kCancelled = 3, kClosed = 4 };

// Who holds the lock, if anybody, and for how long.
struct Contention {
  ContentionReason reason = ContentionReason::kHeld;
  std::string holder_owner;                    // Owner text of the holder. Empty if it gave none.
  std::chrono::milliseconds remaining_ttl{0};  // Time until the lock can become free by itself.
  int position = 0;                            // Place in line when the wait ended. 0: none.
  int waiters = 0;                             // Waiters in line.
};

// One of three: granted, contention (the lock is not free), error.
//
//   if (AcquireResult result = client.Acquire("report")) {
//     Write(result->fencing_token());
//   }
//
// Thread-safety: thread-compatible. Ownership: owns the lease until TakeLease; dropping the result
// releases it.
class [[nodiscard]] AcquireResult {
 public:
  // For the client. Requires: `error` is not OK.
  explicit AcquireResult(Lease lease);
  AcquireResult(Contention contention, absl::Status status);
  explicit AcquireResult(absl::Status error);

  // Whether the lock is held.
  explicit operator bool() const { return lease_.has_value(); }

  // OK only if the lock is held. ABORTED with the reason kNotAcquired on contention.
  const absl::Status& status() const { return status_; }

  // Who has the lock. Nothing if it was granted, or if the acquire failed for another reason.
  const std::optional<Contention>& contention() const { return contention_; }

  // The lease. Requires: granted; ends the process otherwise.
  Lease& operator*();
  Lease* operator->() { return &**this; }

  // Moves the lease out. Requires: granted; ends the process otherwise.
  Lease TakeLease() &&;

 private:
  std::optional<Lease> lease_;
  std::optional<Contention> contention_;
  absl::Status status_;
};

}  // namespace lockkeeper
