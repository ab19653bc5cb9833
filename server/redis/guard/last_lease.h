// SPDX-License-Identifier: Apache-2.0
//
// The lease that the store has last confirmed to this daemon. A restart loses the end of the log
// first: if this lease is there, everything that was confirmed before it is there too.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/requests.h"
#include "redis/format/key_layout.h"
#include "redis/node/command.h"

namespace lockkeeper::redis {

// Thread-safety: not thread-safe.
class LastLease {
 public:
  // Keeps the lease that the store confirmed last, in whatever order the calls come. `epoch` is
  // that of its record.
  void Confirmed(const core::Lease& lease, int64_t epoch);

  // Whether a look for the lease shows anything: the newest beat in the store, at `beat`, is not
  // from after the lease (it would prove that the lease is there), and a record of the lease would
  // still be kept at `now`.
  bool IsWanted(core::NodeTime beat, core::NodeTime now) const;

  // The command that reads its record.
  Command Ask(const KeyLayout& keys) const;
  bool IsIn(std::string_view record) const;

 private:
  std::string name_;
  core::FencingToken token_;
  int64_t epoch_ = 0;
  core::NodeTime end_;
  core::NodeTime confirmed_;
};

}  // namespace lockkeeper::redis
