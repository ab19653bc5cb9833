// SPDX-License-Identifier: Apache-2.0
//
// What an observer believes, by what it hears. Pure: client/README.md, "Observing a leader", points
// 2 and 3.
#pragma once

#include <cstdint>
#include <optional>

#include "observe/watched_lock.h"

namespace lockkeeper::client {

// Thread-safety: thread-compatible.
class LeaderRules {
 public:
  // What follows.
  struct Outcome {
    bool changed = false;  // The leader is another one, or known for the first time.
    bool look = false;     // It has to be asked for.
    std::optional<Duration> look_after{};  // The same, but not before this time has passed.

    bool operator==(const Outcome&) const = default;
  };

  Outcome OnEvent(const LockEvent& event);

  // A look is sent. There must be no other one in flight.
  void OnLookSent() { overtaken_ = false; }

  // The answer to the look that was sent last.
  Outcome OnLook(const LockLook& look);

  // Nothing: nobody leads, or that is not known.
  const std::optional<Leader>& leader() const { return leader_; }

 private:
  // From now on it is about this lease, which has not ended.
  void Begin(int64_t token);
  Outcome Lead(std::optional<Leader> leader);
  Outcome OnGranted(const Leader& lease);

  bool known_ = false;
  std::optional<Leader> leader_;
  int64_t newest_ = 0;      // Highest token in an event or a look. 0: none yet.
  bool has_ended_ = false;  // The end of its lease was seen.
  // An event has changed something of the above since the look was sent.
  bool overtaken_ = false;
};

}  // namespace lockkeeper::client
