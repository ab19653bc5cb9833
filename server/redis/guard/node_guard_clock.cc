// SPDX-License-Identifier: Apache-2.0
//
// How a guard learns its node's clock: whether it was set, and whether the marker says so already.
// docs/internals/clocks.md explains.
#include <algorithm>
#include <chrono>

#include "redis/guard/node_guard.h"

namespace lockkeeper::redis {
namespace {

using core::Instant;
using core::Micros;
using core::Millis;
using core::NodeTime;

// Between the beats of a living daemon there is about a second.
constexpr Micros kBeatsApartMax = std::chrono::seconds(3);
// Within this time another daemon that knows of a step of the clock has written it into the marker.
constexpr Millis kPeerNoticeTime{1'500};

// One daemon may just notice a step that another takes for drift. A smaller difference than this is
// no step to this daemon.
constexpr Micros kMayBeTheSame = 2 * NodeClock::kNeverAStep;

NodeTime Less(NodeTime time, Micros offset) { return {time.micros - offset.count()}; }

}  // namespace

// False if the clock was set.
bool NodeGuard::LearnClock(Instant sent, NodeTime node, int64_t epoch) {
  token_floor_.SawClock(node);
  if (node_clock_.Saw(sent, clock_.Now(), node)) return true;
  ++clock_steps_.count;
  clock_steps_.epoch = known_ ? std::max(epoch, known_->marker.epoch) : epoch;
  LearnClockAnew(sent, node);
  // A slow reply measures the step badly: this daemon follows whoever knows better.
  step_measured_badly_ = clock_learned_ - sent > kMayBeTheSame;
  if (step_measured_badly_) service_clock_since_ = clock_learned_;
  return false;
}

// The marker is still the one that this daemon knows.
void NodeGuard::NoteUnchanged(Instant sent) {
  const Instant now = clock_.Now();
  const bool is_quick = now - sent <= kMayBeTheSame;
  if (is_quick && sent - service_clock_since_ >= kPeerNoticeTime) step_measured_badly_ = false;
}

void NodeGuard::LearnClockAnew(Instant sent, NodeTime node) {
  clock_learned_ = clock_.Now();
  token_floor_.SawClock(node_clock_.Latest(clock_learned_));  // Others may have such tokens.
  node_clock_.Forget();
  node_clock_.Saw(sent, clock_learned_, node);
}

// Whether another daemon has noticed a loss since.
bool NodeGuard::IsNewer(const StoreMarker& marker) const {
  return known_ && marker.service_id == known_->marker.service_id &&
         marker.epoch > known_->marker.epoch;
}

// The marker of the new epoch tells of all steps if service time goes on by its clock offset. If
// not, this daemon reports a step once, and then follows the others: two that disagree would
// contradict each other for ever. A daemon that has just learned service time may have done so
// after a step, before others noticed that. So for a while it takes one step for the one in the
// marker, if the last beat in the marker fits the clock as it is now. If it has measured the step
// badly, that while lasts until a quick look has shown that nobody knows better.
void NodeGuard::LearnClockOfNewEpoch(Instant sent, NodeTime node, const SeenMarker& seen) {
  const Instant now = clock_.Now();
  const Micros offset = seen.marker.clock_offset;
  token_floor_.SawClock(node);
  if (!step_measured_badly_ && now - service_clock_since_ >= kPeerNoticeTime) {
    const bool is_certain = NodeClock(service_clock_).Saw(sent, now, Less(node, offset));
    if (service_clock_.Saw(sent, now, Less(node, offset), kMayBeTheSame)) {
      // If it took a step for drift, whoever notices that step knows service time better.
      if (!is_certain) service_clock_since_ = now;
      if (offset != known_->marker.clock_offset) ++clock_steps_.count;
      clock_steps_.epoch = known_->marker.epoch;
      clock_learned_ = now;
      token_floor_.SawClock(node_clock_.Latest(now));
      node_clock_ = service_clock_.AheadBy(offset);
      return;
    }
    ++clock_steps_.count;
    clock_steps_.epoch = seen.marker.epoch;
  } else if (!node_clock_.Saw(sent, now, node)) {
    const bool has_beaten =
        std::chrono::abs(Micros(node.micros - seen.beat.at.micros)) <= kBeatsApartMax;
    const bool is_told = clock_steps_.count == 0 && has_beaten;
    clock_steps_.epoch = is_told ? known_->marker.epoch : seen.marker.epoch;
    ++clock_steps_.count;
  }
  service_clock_since_ = now;
  step_measured_badly_ = false;
  LearnClockAnew(sent, node);
}

// How far the node's clock is ahead of service time: the newest marker says so, unless the clock
// was set since. Then all replies since the step tell it: a single one may have been slow.
Micros NodeGuard::ClockOffset(const std::optional<SeenMarker>& seen) const {
  if (!known_) return {};
  const StoreMarker& newest = seen && IsNewer(seen->marker) ? seen->marker : known_->marker;
  if (clock_steps_.count == 0 || clock_steps_.epoch < newest.epoch) return newest.clock_offset;
  return node_clock_.AheadOf(service_clock_);
}

}  // namespace lockkeeper::redis
