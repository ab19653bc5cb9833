// SPDX-License-Identifier: Apache-2.0
//
// One call to a fake service, and an error to answer it with.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "lockkeeper/options.h"

namespace lockkeeper::support {

// The content of a daemon's error. The details are encoded here by hand, independently of the
// client's code.
struct FakeError {
  grpc::StatusCode code;
  std::string reason;  // Empty: no details, as of an error that gRPC makes.
  std::string message = "made by the test";
  std::string field;  // Not empty: BadRequest.
  int64_t retry_delay_ms = 0;
};
grpc::Status StatusOf(const FakeError& error);

// A received call, unary or in a session.
struct FakeCall {
  grpc::ServerContext& context;               // In a session: of its stream.
  const std::atomic<bool>* cancel = nullptr;  // In a session: set when the client cancels the call.
  TraceContext trace{};                       // Of the metadata; in a session: of the operation.

  bool IsCancelled() const { return context.IsCancelled() || (cancel != nullptr && *cancel); }
};

}  // namespace lockkeeper::support
