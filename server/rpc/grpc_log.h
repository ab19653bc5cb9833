// SPDX-License-Identifier: Apache-2.0
//
// Redirects the messages of gRPC itself, and of protobuf, into our log; by default they go to
// standard error, as many as there are: protobuf has one for each text that is no UTF-8.
#pragma once

#include "telemetry/log.h"

namespace lockkeeper::rpc {

// While it lives, errors of both are logged as `grpc.error`, at most one a second.
//
// Thread-safety: thread-safe. Both have one log function in a process: the newest object gets the
// records. Lifetime: borrows the logger's log.
class GrpcLogRedirect {
 public:
  explicit GrpcLogRedirect(telemetry::Logger logger);
  ~GrpcLogRedirect();
  GrpcLogRedirect(const GrpcLogRedirect&) = delete;
  GrpcLogRedirect& operator=(const GrpcLogRedirect&) = delete;

  void Write(const char* message);

 private:
  const telemetry::Logger logger_;
  telemetry::LogLimit limit_;
};

}  // namespace lockkeeper::rpc
