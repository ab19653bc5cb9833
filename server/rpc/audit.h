// SPDX-License-Identifier: Apache-2.0
//
// Decides what is recorded of the operations of clients: in the audit trail, if there is one, and,
// of what administrators change, in the log. docs/reference/audit.md lists the records.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "audit/trail.h"
#include "core/requests.h"
#include "rpc/caller.h"
#include "rpc/operation.h"
#include "telemetry/log.h"
#include "telemetry/outcome.h"

namespace lockkeeper::rpc {

// What an operation was rejected for.
enum class Rejection {
  kOfRequest,  // It is malformed, or the daemon stops.
  kOfCaller,   // Who it is, what it may do, or how much.
};

// Thread-safety: thread-safe; see Caller for the callers. Lifetime: borrows the logger's log and
// the trail.
class Auditor {
 public:
  // `trail`: null if there is none.
  Auditor(telemetry::Logger logger, audit::Trail* trail) : logger_(logger), trail_(trail) {}

  // Whether the record of a grant can be kept, if that is required. Errors: AUDIT_UNAVAILABLE.
  absl::Status CheckGrant() const;

  // The gate has rejected the operation: nothing was changed.
  void Rejected(Caller& caller, const Operation& operation, const absl::Status& why,
                Rejection rejection);

  // An acquire, extend or release was answered: records grants, releases, lost leases and
  // re-assertions. Other verbs are not recorded by this.
  void Answered(Verb verb, Caller& caller, const Subject& subject, telemetry::Outcome outcome,
                const absl::Status& status);

  // An administrator's request was carried out, or has failed.
  void Answered(Caller& caller, const ForceReleaseRequest& request,
                const absl::StatusOr<core::ForceReleaseAnswer>& answer);
  void Answered(Caller& caller, const EndQuarantineRequest& request,
                const absl::StatusOr<core::EndQuarantineAnswer>& answer);
  // `started`: the drain begins because of this request, and has not begun before.
  void Answered(Caller& caller, const DrainRequest& request, bool started);

  // Records of `caller` can be made on another thread from now on.
  void Prepare(Caller& caller) {
    if (trail_ != nullptr) caller.Origin();
  }

 private:
  template <typename Request>
  void PutAnswer(Caller& caller, const Request& request, telemetry::Outcome outcome,
                 const absl::Status& status, audit::Record record);

  const telemetry::Logger logger_;
  audit::Trail* const trail_;
};

}  // namespace lockkeeper::rpc
