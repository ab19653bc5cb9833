// SPDX-License-Identifier: Apache-2.0
//
// Brings what gRPC writes about itself into our log, instead of lines of its own on standard error.
#pragma once

#include "telemetry/log.h"

namespace lockkeeper::rpc {

// While it lives, gRPC's errors are records `grpc.error`, at most one each second.
//
// Thread-safety: thread-safe. gRPC has one log function in a process: the newest object gets the
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
