// SPDX-License-Identifier: Apache-2.0
//
// One blocking operation at the daemon that is used now, and the loop that repeats one until it is
// answered.
#pragma once

#include <stop_token>

#include "absl/functional/function_ref.h"
#include "acquire/retry_rule.h"
#include "renewal/backoff.h"
#include "renewal/time.h"
#include "transport/daemons.h"

namespace lockkeeper::client {

// What every blocking operation needs. Lifetime: borrows.
struct CallPorts {
  Daemons& daemons;
  const Clock& clock;
  Jitter& jitter;
};

// Blocks for `delay`, or until a stop is requested: then returns false.
bool PauseFor(Duration delay, const std::stop_token& cancel);

// Runs `request` once; a stop of `cancel` ends it with CANCELLED.
OperationAnswer RunOnce(const CallPorts& ports, size_t daemon, v1::SessionOperation request,
                        Duration timeout, const std::stop_token& cancel);

struct AnsweredRequest {
  OperationAnswer answer;
  Instant sent;  // Of the try that is answered.
};

// Runs `request` until it is answered by something else than UNAVAILABLE, or until `timeout` has
// passed; then returns the last error. Each try goes to the daemon that is used then.
AnsweredRequest RunUntilAnswered(const CallPorts& ports, Duration timeout,
                                 const v1::SessionOperation& request);

}  // namespace lockkeeper::client
