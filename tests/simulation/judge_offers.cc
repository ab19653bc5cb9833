// SPDX-License-Identifier: Apache-2.0
//
// What the judge makes of offers that nobody wanted.
#include "simulation/judge.h"

namespace lockkeeper::simulation {

void Judge::Declined(const Try& what) {
  Lock& state = locks_[what.lock];
  if (!state.answered.contains(what.keeper)) state.declined.insert(what.keeper);
}

void Judge::Settled(const Try& what) {
  if (!locks_[what.lock].declined.contains(what.keeper)) return;
  Violation("an offer of " + what.lock + " to " + what.lease_id.substr(0, 8) +
            " was declined while it waited");
}

}  // namespace lockkeeper::simulation
