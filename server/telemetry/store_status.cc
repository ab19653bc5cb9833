// SPDX-License-Identifier: Apache-2.0
#include "telemetry/store_status.h"

#include <algorithm>
#include <chrono>

namespace lockkeeper::telemetry {
namespace {

constexpr char kNoticedElsewhere[] =
    "another daemon, or an earlier run of this one, has noticed that the store may have forgotten "
    "leases: guard.loss_suspected in its log says what";

// "4.2 s"
std::string InSeconds(core::Instant::duration time) {
  using Tenths = std::chrono::duration<int64_t, std::deci>;
  const int64_t tenths = std::max<int64_t>(std::chrono::ceil<Tenths>(time).count(), 0);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

std::string StoreStatus::GrantProblem(core::Instant now) const {
  if (grants) return "";
  if (!setting_problem.empty()) return "nothing new is granted: the store " + setting_problem;
  return "quarantined for another " + InSeconds(quarantine_over - now) + ": " +
         (loss_detail.empty() ? kNoticedElsewhere : loss_detail);
}

}  // namespace lockkeeper::telemetry
