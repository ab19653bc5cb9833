// SPDX-License-Identifier: Apache-2.0
//
// Runs one operation and blocks until it is answered, once or with retries.
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
  Instant sent;  // When the attempt was sent that got the answer.
};

// Runs `request`, and retries while the answer is UNAVAILABLE, until `timeout` has passed; then
// returns the last error. Each attempt goes to the daemon that is in use at that moment.
AnsweredRequest RunUntilAnswered(const CallPorts& ports, Duration timeout,
                                 const v1::SessionOperation& request);

}  // namespace lockkeeper::client
