// SPDX-License-Identifier: Apache-2.0
#include "cli/run/stop_plan.h"

#include <algorithm>

#include "renewal/lease_life.h"

namespace lockkeeper::cli {

using std::chrono::milliseconds;

milliseconds GraceMax(milliseconds ttl) {
  const Duration left = client::StopMarginMax(ttl) - kKillMargin;
  return std::chrono::floor<milliseconds>(std::min<Duration>(left, ttl / 2));
}

milliseconds TtlMin() {
  milliseconds ttl(1);
  while (GraceMax(ttl) < milliseconds(0)) ++ttl;
  return ttl;
}

milliseconds GraceDefault(milliseconds ttl) {
  constexpr milliseconds kMost = std::chrono::seconds(5);
  return std::min({kMost, ttl / 4, GraceMax(ttl)});
}

StopTimes StopTimesOf(Instant lease_end, Duration grace) {
  const Instant kill_at = lease_end - kKillMargin;
  return {.term_at = kill_at - grace, .kill_at = kill_at};
}

void StopPlan::SetTimes(const StopTimes& times) {
  if (!is_stopping()) times_ = times;
}

void StopPlan::StopNow(Instant now) {
  if (is_stopping()) return;
  stage_ = Stage::kStopAsked;
  const Instant after_grace = now + grace_;
  times_ = {.term_at = now,
            .kill_at = times_ ? std::min(times_->kill_at, after_grace) : after_grace};
}

StopPlan::Action StopPlan::TakeDue(Instant now) {
  if (!times_ || stage_ == Stage::kKilled) return Action::kNothing;
  if (stage_ != Stage::kTerminated && now >= times_->term_at) {
    stage_ = Stage::kTerminated;
    return Action::kTerminate;
  }
  if (now >= times_->kill_at) {
    stage_ = Stage::kKilled;
    return Action::kKill;
  }
  return Action::kNothing;
}

std::optional<Instant> StopPlan::NextAt() const {
  if (!times_ || stage_ == Stage::kKilled) return std::nullopt;
  return stage_ == Stage::kTerminated ? times_->kill_at : times_->term_at;
}

}  // namespace lockkeeper::cli
