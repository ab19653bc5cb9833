// SPDX-License-Identifier: Apache-2.0
//
// One operation on its way to a daemon. A session and a unary call carry the same messages, so that
// who asks need not know which of them is used.
#pragma once

#include <atomic>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "renewal/time.h"

namespace lockkeeper::client {

// What the daemon answered, never its `error`: that is a status here. UNAVAILABLE and
// DEADLINE_EXCEEDED: worth another try.
using OperationAnswer = absl::StatusOr<v1::SessionResult>;

struct Operation {
  v1::SessionOperation request;
  Instant deadline;
  // Completion: runs exactly once, by about `deadline`, on any thread, possibly before the call
  // that started it returned.
  absl::AnyInvocable<void(OperationAnswer) &&> done;

  std::atomic<bool> cancelled = false;  // Set by Operations::Cancel.
  uint64_t id = 0;                      // Of its session, if it is in one.
};

using OperationPtr = std::shared_ptr<Operation>;

// A way to one daemon. Thread-safety: thread-safe.
class Operations {
 public:
  virtual ~Operations() = default;

  virtual void Run(OperationPtr operation) = 0;

  // Ends it early: it is answered CANCELLED, or with what came before.
  virtual void Cancel(const OperationPtr& operation) = 0;
};

}  // namespace lockkeeper::client
