// SPDX-License-Identifier: Apache-2.0
//
// Small scopes, searched exhaustively: two daemons, two clients and one lock, and from some moment
// on all orders in which the next messages can arrive.
#pragma once

#include <cstdint>

#include "simulation/schedule.h"

namespace lockkeeper::simulation {

// How many orders of `depth` messages there are.
uint64_t OrdersOf(unsigned depth);

// A scope, drawn from a seed, with the order of this number. Requires: number < OrdersOf(depth).
Schedule DrawSmallScope(uint64_t seed, unsigned depth, uint64_t number);

}  // namespace lockkeeper::simulation
