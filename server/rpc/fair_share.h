// SPDX-License-Identifier: Apache-2.0
//
// Principals share a busy store: what it can take at a time is given to them in turn, one operation
// each (round robin), so that one with thousands of operations does not delay the others.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "core/clock.h"
#include "core/executor.h"
#include "core/types.h"

namespace lockkeeper::rpc {

// Operations that the store has at a time. It is no faster with more, but with half as many it is
// slower; and whoever comes behind them waits for all.
inline constexpr size_t kOperationsUnderWayMax = 512;

// A store that takes nothing more for so long does not answer, rather than being busy: nobody waits
// for a turn any more, and operations fail at their own deadlines. How long a single one waits does
// not count: whoever has very many outstanding waits for longer, and must not pass the others.
inline constexpr core::Millis kStoreSilenceMax{500};

// Thread-safety: loop-thread only, but for constructor and destructor.
class FairShare {
 public:
  // `under_way`: how many operations the store has; those that wait for a lock do not count.
  // Lifetime: borrows `loop` and `clock`.
  FairShare(core::Executor& loop, const core::Clock& clock, std::function<size_t()> under_way);
  // Requires: no step waits.
  ~FairShare();
  FairShare(const FairShare&) = delete;
  FairShare& operator=(const FairShare&) = delete;

  // Runs `step`, which gives the store an operation or goes with one: before it returns if the
  // store can take it, else when it is the principal's turn. The steps of a principal keep their
  // order.
  template <typename Step>
  void Run(const std::string& principal, Step&& step) {
    if (MayRunNow()) return std::forward<Step>(step)();
    Enter(principal, std::forward<Step>(step));
  }

 private:
  struct Steps;

  bool MayRunNow() const;
  void Enter(const std::string& principal, core::Task step);

  core::Executor& loop_;
  std::shared_ptr<Steps> steps_;
};

}  // namespace lockkeeper::rpc
