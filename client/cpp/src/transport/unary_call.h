// SPDX-License-Identifier: Apache-2.0
//
// One blocking call to the daemon that is used now, and the loop that repeats one until it is
// answered.
#pragma once

#include <grpcpp/client_context.h>

#include <stop_token>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "acquire/retry_rule.h"
#include "renewal/backoff.h"
#include "renewal/time.h"
#include "transport/channels.h"

namespace lockkeeper::client {

// What every blocking call needs. Lifetime: borrows.
struct CallPorts {
  Channels& channels;
  const Clock& clock;
  Jitter& jitter;
};

// Blocks for `delay`, or until a stop is requested: then returns false.
bool PauseFor(Duration delay, const std::stop_token& cancel);

// Calls `call` once; a stop of `cancel` ends it with CANCELLED.
absl::Status CallOnce(Duration timeout, const std::stop_token& cancel,
                      absl::FunctionRef<grpc::Status(grpc::ClientContext&)> call);

// Calls `call` until it is answered by something else than UNAVAILABLE, or until `timeout` has
// passed; then returns the last error. Each try goes to the daemon that it is given.
absl::Status CallUntilAnswered(
    const CallPorts& ports, Duration timeout,
    absl::FunctionRef<grpc::Status(grpc::ClientContext&, Channels::Stub&)> call);

}  // namespace lockkeeper::client
