// SPDX-License-Identifier: Apache-2.0
//
// One daemon on the roll: when it may begin, what it writes with each beat, and when all daemons
// have restored what they had told their clients. No I/O; node_guard carries it out.
//
// Source: ADR 0036, which says why nobody is unknown.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/types.h"
#include "redis/format/daemon_roll.h"

namespace lockkeeper::redis {

// Thread-safety: not thread-safe.
class RollMember {
 public:
  // `id`: of this start of the daemon, 16 hex digits.
  explicit RollMember(std::string id) : id_(std::move(id)) {}

  // It has read the roll at `now` of the node's clock; `wrote`: just after it wrote its beat.
  // `isolation`: see NodeLife.
  void Read(DaemonRoll roll, bool wrote, core::NodeTime now, core::Millis isolation);

  // Its calls may be carried out: whoever can end a quarantine early knows of this daemon. False
  // again if it has fallen off the roll.
  bool admitted() const { return admitted_; }

  // It has told nobody anything, or has restored what it had told, in this epoch.
  void Restored(int64_t epoch) { restored_ = epoch; }
  int64_t restored() const { return restored_; }

  // All on the roll have restored what they had told, in this epoch, and its quarantine may end.
  // False as long as it is not admitted.
  bool AllRestored(int64_t epoch) const;

  // What the next beat of `epoch` carries: the version of the roll that was read, by which a daemon
  // that may begin itself admits others, and the daemons that have to be on the roll.
  int64_t SeenIn(int64_t epoch) const {
    return admitted_ && known_in_ == epoch ? known_version_ : 0;
  }
  std::string KnownIn(int64_t epoch) const;
  // Whether others wait to hear that the roll was read.
  bool HasNewsFor(int64_t epoch) const;

  const std::string& id() const { return id_; }

 private:
  bool IsKnownToOthers(const RollEntry& own, core::NodeTime now, core::Millis isolation) const;

  const std::string id_;
  DaemonRoll roll_;
  std::set<std::string> known_;  // That were on the roll when its own beat was written last.
  int64_t known_in_ = 0;         // The epoch of that,
  int64_t known_version_ = 0;    // and the version.
  int64_t joined_ = 0;
  bool admitted_ = false;
  int64_t restored_ = 0;
};

// A daemon whose last answered beat was longer ago, when it moved to another server, restores
// nothing that counts: daemons may have begun that it does not know of.
core::Millis StaleAfter(core::Millis isolation);

// Who has been silent for so long is stale, whichever server it was connected to.
core::Millis SilentAfter(core::Millis isolation);

}  // namespace lockkeeper::redis
