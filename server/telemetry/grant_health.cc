// SPDX-License-Identifier: Apache-2.0
#include "telemetry/grant_health.h"

#include <algorithm>
#include <chrono>
#include <tuple>

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

auto Gravity(const GrantHealth& shard) {
  return std::tuple(!shard.looked, !shard.granting, !shard.setting_problem.empty(), shard.epoch,
                    shard.quarantine_end, !shard.loss.empty());
}

}  // namespace

std::string GrantHealth::Problem(core::Instant now) const {
  if (granting) return "";
  if (!setting_problem.empty()) return "nothing new is granted: the store " + setting_problem;
  return "quarantined for another " + InSeconds(quarantine_over - now) + ": " +
         (loss_detail.empty() ? kNoticedElsewhere : loss_detail);
}

GrantHealth Merged(const std::vector<GrantHealth>& shards) {
  GrantHealth merged = *std::max_element(
      shards.begin(), shards.end(),
      [](const GrantHealth& a, const GrantHealth& b) { return Gravity(a) < Gravity(b); });
  for (const GrantHealth& shard : shards) merged.epoch = std::max(merged.epoch, shard.epoch);
  // One shard has noticed it, the others have heard of it.
  for (const GrantHealth& shard : shards) {
    if (!merged.loss.empty() || shard.epoch < merged.epoch) continue;
    merged.loss = shard.loss;
    merged.loss_detail = shard.loss_detail;
    merged.noticed = shard.noticed;
  }
  return merged;
}

}  // namespace lockkeeper::telemetry
