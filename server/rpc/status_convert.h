// SPDX-License-Identifier: Apache-2.0
//
// The only place where a status of the domain becomes a gRPC status. Its details are a
// google.rpc.Status with ErrorInfo{reason, domain "lockkeeper", metadata}, BadRequest for a field,
// and RetryInfo where sending again makes sense; the table is core/errors.
#pragma once

#include "absl/status/status.h"
#include "core/errors.h"
#include "grpcpp/support/status.h"

namespace lockkeeper::rpc {

inline constexpr char kErrorDomain[] = "lockkeeper";

// Least time before sending again makes sense, if the status itself names none. Nothing for errors
// that sending again, with the same or a new lease id, does not mend by waiting.
std::optional<core::Millis> DefaultRetryDelay(core::ErrorReason reason);

// The same for a status: what it names itself, else that of its reason. Nothing for foreign ones.
std::optional<core::Millis> RetryDelayFor(const absl::Status& status);

// A status that core/errors did not make is a fault of ours: it becomes INVARIANT_VIOLATED.
grpc::Status ToGrpcStatus(const absl::Status& status);

}  // namespace lockkeeper::rpc
