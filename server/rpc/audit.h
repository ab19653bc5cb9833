// SPDX-License-Identifier: Apache-2.0
//
// Audit records: what administrators change, and which of their requests are rejected.
//
// Thread-safety: thread-safe.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/requests.h"
#include "rpc/caller.h"
#include "rpc/operation.h"
#include "telemetry/log.h"

namespace lockkeeper::rpc {

// The gate has rejected the request: nothing was changed.
void AuditRejected(const telemetry::Logger& logger, Caller& caller,
                   const ForceReleaseRequest& request, const absl::Status& why);

// The request was carried out, or has failed.
void AuditAnswered(const telemetry::Logger& logger, Caller& caller,
                   const ForceReleaseRequest& request,
                   const absl::StatusOr<core::ForceReleaseAnswer>& answer);

// The same for the end of a quarantine.
void AuditRejected(const telemetry::Logger& logger, Caller& caller,
                   const EndQuarantineRequest& request, const absl::Status& why);
void AuditAnswered(const telemetry::Logger& logger, Caller& caller,
                   const EndQuarantineRequest& request,
                   const absl::StatusOr<core::EndQuarantineAnswer>& answer);

}  // namespace lockkeeper::rpc
