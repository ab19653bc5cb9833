// SPDX-License-Identifier: Apache-2.0
//
// A node's clock, as learned from its replies. Each reply with the node's time bounds the
// difference of the two clocks; a reply outside of the bounds shows that the node's clock was set.
//
// Thread-safety: not thread-safe.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace lockkeeper::redis {

class NodeClock {
 public:
  // A smaller difference never counts as a step.
  static constexpr core::Micros kNeverAStep{50'000};

  // Learns from a reply: between `sent` and `received` the node's clock read `node`. False if the
  // clock was set since the previous reply, by more than drift and `never_a_step`.
  bool Saw(core::Instant sent, core::Instant received, core::NodeTime node,
           core::Micros never_a_step = kNeverAStep);

  // How far this clock is ahead of `other`. Requires: both are known().
  core::Micros AheadOf(const NodeClock& other) const;

  // This clock, shifted forward by `by`.
  NodeClock AheadBy(core::Micros by) const;

  // Forgets the bounds, so that the next reply sets new ones.
  void Forget() { known_ = false; }

  bool known() const { return known_; }

  // The earliest and the latest time that the node's clock can show at `at`. Requires: known().
  core::NodeTime Earliest(core::Instant at) const;
  core::NodeTime Latest(core::Instant at) const;

 private:
  // What clocks may have drifted apart since the reply before, in microseconds.
  int64_t Drift(core::Instant at) const;

  bool known_ = false;
  core::Instant at_;  // Of the last reply.
  // Bounds of (node's clock - ours), in microseconds.
  int64_t low_ = 0;
  int64_t high_ = 0;
};

}  // namespace lockkeeper::redis
