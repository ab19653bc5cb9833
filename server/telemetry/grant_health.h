// SPDX-License-Identifier: Apache-2.0
//
// Whether new leases may be granted from a store that can be reached: not while the store may have
// forgotten leases, and not while one of its settings forbids grants.
#pragma once

#include <cstdint>
#include <string>

#include "core/types.h"

namespace lockkeeper::telemetry {

struct GrantHealth {
  bool looked = true;  // The guard has looked at the store. Calls wait until it has.
  bool granting = true;
  int64_t epoch = 0;  // Of the store. 0: not known yet.
  core::NodeTime
      quarantine_end;  // By the store's clock, also of one that is over. 0: there was none.
  core::Instant quarantine_over;  // The same by the daemon's clock.
  std::string setting_problem;    // What else forbids grants, for people: mostly a setting.
  std::string loss;               // How the epoch began, such as "emptied". Empty: not known here.
  std::string loss_detail;        // The same for people, with what to do.
  core::NodeTime noticed;         // When, by the store's clock. 0: not known here.

  bool operator==(const GrantHealth&) const = default;

  // Why nothing is granted, in one line. Empty if it is granted.
  std::string Problem(core::Instant now) const;
};

}  // namespace lockkeeper::telemetry
