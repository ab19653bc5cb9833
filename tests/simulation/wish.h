// SPDX-License-Identifier: Apache-2.0
//
// What a simulated client wants next.
#pragma once

#include "absl/status/status.h"
#include "core/requests.h"
#include "simulation/schedule.h"
#include "support/random.h"

namespace lockkeeper::simulation {

// Each acquire of the last lap waits long for the first lock, and holds it for a short time.
enum class Lap { kOrdinary, kLast };

struct Wish {
  int lock = 0;
  core::Micros hold{};
  core::AcquireRequest request;  // Without deadline, principal and keeper.
};

// Draws one for the client `client`.
Wish DrawWish(const Schedule& schedule, Lap lap, int client, support::Random& random);

// Whether an acquire that ended with `why` is retried, see client/README.md.
bool GoesAgain(const absl::Status& why);

// How long a client waits before that.
core::Micros PauseAfter(const absl::Status& why, support::Random& random);

}  // namespace lockkeeper::simulation
