// SPDX-License-Identifier: Apache-2.0
//
// One operation in flight to a daemon. A session and a unary call carry the same messages, so the
// caller need not know which of them is used.
#pragma once

#include <atomic>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// The answer of the daemon. The `error` of a SessionResult is a status here. UNAVAILABLE and
// DEADLINE_EXCEEDED are retryable.
using OperationAnswer = absl::StatusOr<v1::SessionResult>;

struct PendingOperation {
  v1::SessionOperation request;
  Instant deadline;
  // Completion: runs exactly once, by about `deadline`, on any thread, possibly before the call
  // that started it returned.
  absl::AnyInvocable<void(OperationAnswer) &&> done;

  std::atomic<bool> cancelled = false;  // Set by Transport::Cancel.
  uint64_t id = 0;                      // Its number in its session, if it is in one.
};

using PendingOperationPtr = std::shared_ptr<PendingOperation>;

// A way to one daemon. Thread-safety: thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;

  virtual void Run(PendingOperationPtr operation) = 0;

  // Ends the operation early: it is answered CANCELLED, unless its answer arrives before.
  virtual void Cancel(const PendingOperationPtr& operation) = 0;
};

}  // namespace lockkeeper::client
