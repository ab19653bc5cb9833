// SPDX-License-Identifier: Apache-2.0
//
// What this daemon has heard of the lines of locks in the last seconds. A script that has to see
// the line of a lock is called a second time, with the key of the line, unless the first call had
// it: so it is worth to remember which locks have a line. What is remembered may be stale, or may
// be missing: that costs a call, and no more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/clock.h"
#include "core/types.h"

namespace lockkeeper::redis {

struct KnownLine {
  core::LeaseId offered;    // Was told of an offer, and may be about to claim it. All zeros: none.
  int64_t unpark_from = 0;  // Number from which on the next poll puts this daemon's waiters that
                            // were passed over back in their places. 0: it does not.
};

// Thread-safety: not thread-safe.
class KnownLines {
 public:
  // Null if nothing was heard of a line of the lock for kKept. Valid until the next call.
  KnownLine* Find(std::string_view name, core::Instant now);

  // The lock has a line now. Valid until the next call.
  KnownLine& Saw(std::string_view name, core::Instant now);

  // At least so long; at most twice. Daemons with waiters poll once a second, and so see the line.
  static constexpr core::Millis kKept{2'000};

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };
  using Lines = std::unordered_map<std::string, KnownLine, Hash, std::equal_to<>>;

  void ForgetOld(core::Instant now);

  Lines lines_;   // Seen since kKept before `half_end_`,
  Lines before_;  // and in the time before.
  core::Instant half_end_;
};

}  // namespace lockkeeper::redis
