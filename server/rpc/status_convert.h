// SPDX-License-Identifier: Apache-2.0
//
// The only place where a status of the domain becomes a gRPC status. Its details are a
// google.rpc.Status with ErrorInfo{reason, domain "lockkeeper", metadata}, BadRequest for a field,
// and RetryInfo where a retry makes sense; the table is in core/errors.
#pragma once

#include "absl/status/status.h"
#include "core/errors.h"
#include "grpcpp/support/status.h"

namespace lockkeeper::rpc {

inline constexpr char kErrorDomain[] = "lockkeeper";

// The delay after which a retry makes sense, if the status itself names none. Nothing for errors
// that a later retry, with the same or a new lease id, does not cure.
std::optional<core::Millis> DefaultRetryDelay(core::ErrorReason reason);

// The same for a status: its own delay, else that of its reason. Nothing for foreign statuses.
std::optional<core::Millis> RetryDelayFor(const absl::Status& status);

// A status that was not made by core/errors is a bug: it becomes INVARIANT_VIOLATED.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace lockkeeper::rpc
