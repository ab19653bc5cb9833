// SPDX-License-Identifier: Apache-2.0
//
// Converts between the messages of lockkeeper.v1 and the client's own types. The rules of the
// client do not know the messages.
#pragma once

#include "absl/status/statusor.h"
#include "acquire/acquire_flow.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "lockkeeper/client.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "observe/watched_lock.h"
#include "renewal/time.h"
#include "transport/operation.h"

namespace lockkeeper::client {

google::protobuf::Duration ToProto(Duration duration);

// Clamps values to 0 .. 24 h.
Duration FromProto(const google::protobuf::Duration& duration);

Granted FromProto(const v1::Lease& lease);
Contention FromProto(const v1::Contention& contention);
ReleaseOutcome FromProto(const v1::ReleaseResponse& response);
FenceResult FromProto(const v1::FenceResponse& response);

// INTERNAL if the response has neither a lease nor a contention.
absl::StatusOr<AcquireAnswer> FromProto(const v1::AcquireResponse& response);

// The answer to an operation. INTERNAL if the answer is of another kind.
absl::StatusOr<AcquireAnswer> AcquiredFrom(const OperationAnswer& answer);
absl::StatusOr<Granted> ExtendedFrom(const OperationAnswer& answer);
absl::StatusOr<ReleaseOutcome> ReleasedFrom(const OperationAnswer& answer);
absl::StatusOr<FenceResult> FencedFrom(const OperationAnswer& answer);

LockEvent FromProto(const admin::v1::LockEvent& event);
LockLook FromProto(const admin::v1::GetLockResponse& response);

// Without lease id, attempt and wait_timeout, which change with each attempt.
v1::AcquireRequest ToProto(std::string_view name, const AcquireOptions& options,
                           std::string_view owner);

}  // namespace lockkeeper::client
