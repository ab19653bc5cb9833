// SPDX-License-Identifier: Apache-2.0
//
// The one way in. Every call enters here, so that a server that shuts down knows when the last one
// has left. Every operation, of a call or of a session, is admitted or rejected here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "absl/status/status.h"
#include "access/access_control.h"
#include "access/usage.h"
#include "core/clock.h"
#include "core/types.h"
#include "rpc/audit.h"
#include "rpc/caller.h"
#include "rpc/current_limits.h"
#include "rpc/operation.h"
#include "rpc/quotas.h"

namespace lockkeeper::rpc {

// Thread-safety: thread-safe. Lifetime: borrows `limits`, `access`, `clock`, `auditor`
// and `metrics`.
class Gate {
 public:
  // `daemon_id` is new at each start of a daemon.
  Gate(const CurrentLimits& limits, const access::AccessControl& access, const core::Clock& clock,
       Auditor& auditor, telemetry::Metrics& metrics, uint64_t daemon_id)
      : limits_(limits),
        access_(access),
        clock_(clock),
        auditor_(auditor),
        refusals_(metrics),
        daemon_id_(daemon_id) {}

  // Counts a call. One Leave() follows, whatever the answer.
  Arrival Enter();
  void Leave();

  // Calls in flight. gRPC does not count them; it waits for connections, and an idle client may
  // keep one open for seconds.
  int64_t calls() const { return calls_; }

  // Calls that arrive from now on are late. Waits at most `limit` until all calls have left.
  // Returns how many have not.
  int64_t Close(core::Millis limit);

  // Whether `operation` may be carried out. If so, sets its principal, and the unique keeper of an
  // acquire. If not, the auditor is told. Errors: SERVER_DRAINING, UNAUTHENTICATED, INVALID_FIELD,
  // PERMISSION_DENIED; those of ApplyQuotas() and of Auditor::CheckGrant().
  absl::Status Admit(Caller& caller, Operation& operation);

  // A unique keeper, for a lease that a session adopts.
  core::Keeper NewHolder() { return core::Keeper::OfHolder(daemon_id_ + NewNumber()); }

 private:
  // Sets `rejection` if the operation is rejected.
  absl::Status Check(Caller& caller, Operation& operation, Rejection& rejection);
  uint64_t NewNumber() { return next_keeper_.fetch_add(1, std::memory_order_relaxed); }

  const CurrentLimits& limits_;
  const access::AccessControl& access_;
  const core::Clock& clock_;
  Auditor& auditor_;
  const QuotaRefusals refusals_;
  const uint64_t daemon_id_;
  access::UsageBook usage_;
  std::atomic<uint64_t> next_keeper_{1};
  std::atomic<int64_t> calls_{0};
  std::atomic<bool> closed_{false};
  std::mutex mutex_;
  std::condition_variable empty_;
};

// Whether the rights of the caller cover `verb` on the lock `name`; for kList, on some lock whose
// name begins with `name`. Errors: PERMISSION_DENIED.
absl::Status CheckRight(const Caller& caller, access::Verb verb, std::string_view name);

}  // namespace lockkeeper::rpc
