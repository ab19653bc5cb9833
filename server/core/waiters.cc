// SPDX-License-Identifier: Apache-2.0
#include "core/waiters.h"

#include <variant>

#include "core/errors.h"

namespace lockkeeper::core {

WaitEnd WaitEndOf(const absl::StatusOr<AcquireAnswer>& answer) {
  if (!answer.ok()) {
    return ReasonOf(answer.status()) == ErrorReason::kServerDraining ? WaitEnd::kDrained
                                                                     : WaitEnd::kFailed;
  }
  if (const Lease* lease = std::get_if<Lease>(&*answer)) {
    return lease->offered ? WaitEnd::kOffered : WaitEnd::kGranted;
  }
  return std::get<Contention>(*answer).reason == ContentionReason::kCancelled ? WaitEnd::kCancelled
                                                                              : WaitEnd::kTimedOut;
}

}  // namespace lockkeeper::core
