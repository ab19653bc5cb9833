// SPDX-License-Identifier: Apache-2.0
//
// How our gRPC servers treat connections and messages, whatever they serve. The benchmark's echo
// server takes the same settings, so that it is a fair measure of the daemon.
#pragma once

#include <grpcpp/server_builder.h>

namespace lockkeeper::rpc {

// Bytes of a call's headers. gRPC's own value; a bearer token takes up to four thousand.
inline constexpr int kHeaderBytesMax = 8 * 1024;

void ApplyServerSettings(grpc::ServerBuilder& builder);

}  // namespace lockkeeper::rpc
