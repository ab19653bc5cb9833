// SPDX-License-Identifier: Apache-2.0
//
// What the daemon knows of its store: whether it reaches it, and whether new leases may be granted.
// They may not while the store may have forgotten leases, nor while one of its settings forbids it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/types.h"

namespace lockkeeper::telemetry {

struct StoreStatus {
  // What the connections to the store say.
  bool reachable = false;
  std::string problem = "not connected yet";  // For people; empty if reachable.
  std::string server_version;                 // Empty if never reached.
  core::Assurance assurance = core::Assurance::kNone;

  // What the guard says, also of a store that is away for a while.
  bool looked = true;  // The guard has looked at the store. Calls wait until it has.
  bool grants = true;
  std::string id;      // Of the store, random. Empty: not known yet.
  std::string run_id;  // Of this start of its server. Empty: the same.
  int64_t epoch = 0;   // Of the store. 0: not known yet.
  core::NodeTime
      quarantine_end;  // By the store's clock, also of one that is over. 0: there was none.
  core::Instant quarantine_over;  // The same by the daemon's clock.
  std::string setting_problem;    // What else forbids grants, for people: mostly a setting.
  std::string loss;               // How the epoch began, such as "emptied". Empty: not known here.
  std::string loss_detail;        // The same for people, with what to do.
  core::NodeTime noticed;         // When, by the store's clock. 0: not known here.

  bool operator==(const StoreStatus&) const = default;

  // Why a store that is reached grants nothing, in one line. Empty if it grants.
  std::string GrantProblem(core::Instant now) const;
};

// What a look at the store has measured.
struct StoreLook {
  core::Micros latency{};  // Between the question and its answer.
  // The store's clock minus the wall clock of this machine. Nothing if the store does not tell.
  std::optional<core::Micros> clock_ahead;
};

}  // namespace lockkeeper::telemetry
