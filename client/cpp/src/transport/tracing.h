// SPDX-License-Identifier: Apache-2.0
//
// Passes the trace context of callers on: in the fields of operations, and so in sessions, and in
// the metadata of unary calls.
#pragma once

#include <grpcpp/client_context.h>

#include "lockkeeper/options.h"
#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::client {

// The context of the caller, on whose thread this runs, without what the service does not take.
TraceContext CallersTrace(const ClientOptions& options);

// Makes the operation part of `trace`. Requires: `trace` is from CallersTrace.
void SetTrace(const TraceContext& trace, v1::SessionOperation& operation);

// The same for a unary call: what the operation carries goes into its metadata.
void AddTrace(const v1::SessionOperation& operation, grpc::ClientContext& context);

}  // namespace lockkeeper::client
