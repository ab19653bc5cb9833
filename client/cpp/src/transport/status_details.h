// SPDX-License-Identifier: Apache-2.0
//
// Turns a gRPC status into an absl::Status with the reason, field and delay that the server put
// into its details, or into the error of an operation of a session. Reads the wire format itself: a
// program that links us may have its own generated copy of google/rpc/*.proto, and two copies end
// the process at its start.
#pragma once

#include <grpcpp/support/status.h>

#include <string_view>

#include "absl/status/status.h"
#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe. Details that cannot be parsed are left out.
absl::Status StatusFromGrpc(const grpc::Status& status);

// The status of a call to the daemon at `address` that nobody here has cancelled. A CANCELLED then
// means that the server ended while it had the call, or that a proxy cut the call; an UNIMPLEMENTED
// means another kind of server. Both become UNAVAILABLE. Errors of the connection get a plain text
// with the address.
absl::Status StatusOfUncancelled(const grpc::Status& status, std::string_view address);

// The same for an operation of a session that nobody has cancelled. Never OK.
absl::Status StatusFromOperation(const v1::OperationError& error);

}  // namespace lockkeeper::client
