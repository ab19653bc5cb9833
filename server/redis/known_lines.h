// SPDX-License-Identifier: Apache-2.0
//
// Which locks had a line in the last few seconds, as far as this daemon has heard. A script that
// has to see the line, but did not get its key, must be called a second time. So calls for these
// locks bring the key at once. What is known here may be stale or incomplete: that costs a call, no
// more.
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
  // The waiter that has an offer, which the next extend of this lease id claims. All zeros: none.
  core::LeaseId offered;
  // Waiters of this daemon were passed over. The next poll puts them back in their places, from
  // this arrival number on. 0: there are none.
  int64_t unpark_from = 0;
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

  Lines lines_;   // Seen in the kKept before `half_end_`,
  Lines before_;  // and in the kKept before that.
  core::Instant half_end_;
};

}  // namespace lockkeeper::redis
