// SPDX-License-Identifier: Apache-2.0
//
// How the judge reads keepers, and writes leases and times.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "simulation/judge.h"

namespace lockkeeper::simulation {

inline constexpr size_t kDaemonDigits = 16;
inline constexpr size_t kShownDigits = 8;

// Places of dead daemons, and those that were set aside, are kept for 30 s.
inline constexpr Micros kPlaceKept{25'000'000};

inline std::string DaemonOf(const std::string& keeper) { return keeper.substr(0, kDaemonDigits); }
inline std::string Shown(const std::string& lease_id) { return lease_id.substr(0, kShownDigits); }

inline std::string Seconds(Micros time) { return std::to_string(time.count() / 1000) + " ms"; }

inline Micros Between(Instant from, Instant to) {
  return std::chrono::duration_cast<Micros>(to - from);
}

}  // namespace lockkeeper::simulation
