// SPDX-License-Identifier: Apache-2.0
//
// Sets the delays of some consecutive messages between clients, daemons and the store, so that all
// orders of arrival can be tried.
#pragma once

#include <array>
#include <cstddef>

#include "core/clock.h"
#include "simulation/schedule.h"
#include "support/manual_clock.h"

namespace lockkeeper::simulation {

class MessageOrder {
 public:
  // Each digit of an order is one of these: a message overtakes those before it that are slower.
  static constexpr std::array<core::Micros, 3> kDelays = {core::Micros(40), core::Micros(1'500),
                                                          core::Micros(5'000)};

  // Lifetime: borrows both.
  MessageOrder(const Schedule& schedule, const core::Clock& clock)
      : schedule_(schedule),
        clock_(clock),
        from_(support::ManualClock().Now() + schedule.order_from) {}

  // The delay of the next message: from the order, or `by_chance` if the order does not cover it.
  core::Micros Next(core::Micros by_chance) {
    if (next_ == schedule_.order.size() || clock_.Now() < from_) return by_chance;
    return kDelays[static_cast<size_t>(schedule_.order[next_++] - '0')];
  }

 private:
  const Schedule& schedule_;
  const core::Clock& clock_;
  core::Instant from_;
  size_t next_ = 0;
};

}  // namespace lockkeeper::simulation
