// SPDX-License-Identifier: Apache-2.0
//
// Reads the reason of an error as a client in any language does: from the details of its status.
#pragma once

#include <grpcpp/support/status.h>

#include <string>

namespace lockkeeper::support {

// Of an error that gRPC itself made.
inline constexpr char kNoDetails[] = "no details";

// "LEASE_LOST"; kNoDetails or "no ErrorInfo" if it is not there.
std::string ReasonOf(const grpc::Status& status);

// The first field that a BadRequest names; empty if there is none.
std::string FieldOf(const grpc::Status& status);

}  // namespace lockkeeper::support
