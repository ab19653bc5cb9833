// SPDX-License-Identifier: Apache-2.0
//
// Records of what administrators do to locks, and of what they were not allowed to do.
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

// The gate has rejected it: nothing was done.
void AuditRejected(const telemetry::Logger& logger, Caller& caller,
                   const ForceReleaseRequest& request, const absl::Status& why);

// It was carried out, or failed.
void AuditAnswered(const telemetry::Logger& logger, Caller& caller,
                   const ForceReleaseRequest& request,
                   const absl::StatusOr<core::ForceReleaseAnswer>& answer);

}  // namespace lockkeeper::rpc
