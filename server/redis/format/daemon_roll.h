// SPDX-License-Identifier: Apache-2.0
//
// The roll: which daemons use the store, and which of them have restored what they had told their
// clients since the store may have forgotten something. scripts/marker.lua writes it with each
// beat; docs/reference/marker.md shows it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace lockkeeper::redis {

struct RollEntry {
  std::string id;        // Of the daemon, 16 hex digits.
  core::NodeTime beat;   // Its last one; or when the epoch began, if that was later.
  int64_t seen = 0;      // The version of the roll that it has read in this epoch.
  int64_t joined = 0;    // The version with which it came onto the roll.
  int64_t restored = 0;  // The last epoch in which it has restored what it had told.
  enum class State {
    kJoins,  // It has not begun to tell anybody anything.
    kActive,
    kLeft,  // It has ended in order, and restores nothing.
  };
  State state = State::kJoins;
};

struct DaemonRoll {
  int64_t version = 0;         // Rises when a daemon comes onto the roll.
  int64_t epoch = 0;           // Of the last beat.
  bool may_end_early = false;  // The quarantine of this epoch, when all have restored.
  std::vector<RollEntry> entries;

  // Null if it is not on the roll.
  const RollEntry* Find(std::string_view id) const;
};

// Empty if the text is no roll.
DaemonRoll ParseRoll(std::string_view text);

}  // namespace lockkeeper::redis
