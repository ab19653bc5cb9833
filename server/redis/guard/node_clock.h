// SPDX-License-Identifier: Apache-2.0
//
// A node's clock as seen from here: each reply that tells the node's time bounds how far its clock
// is from ours, and a reply that cannot be true of that clock tells that it was set.
//
// Thread-safety: not thread-safe.
#pragma once

#include <cstdint>

#include "core/types.h"

namespace lockkeeper::redis {

class NodeClock {
 public:
  // What is never called a step.
  static constexpr core::Micros kNeverAStep{50'000};

  // A reply, received now, to what was sent at `sent`: in between the node's clock read `node`.
  // False if the clock was set since the reply before, by more than ordinary drift and
  // `never_a_step`.
  bool Saw(core::Instant sent, core::Instant received, core::NodeTime node,
           core::Micros never_a_step = kNeverAStep);

  // By how much a reply that cannot be true says that the clock was set. Requires: known().
  core::Micros SetBy(core::Instant sent, core::Instant received, core::NodeTime node) const;

  // A clock that is ahead of this one by so much.
  NodeClock AheadBy(core::Micros by) const;

  // Believes the next reply whatever it says.
  void Forget() { known_ = false; }

  bool known() const { return known_; }

  // What the node's clock reads at least, and at most, if it is asked at `at`. Requires: known().
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
