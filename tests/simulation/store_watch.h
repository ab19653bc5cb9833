// SPDX-License-Identifier: Apache-2.0
//
// What happens at the simulated store, for the search (coverage) and for people (trace). What it
// means is told to the judge by the watch of that store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string_view>

#include "core/clock.h"
#include "simulation/coverage.h"
#include "simulation/judge.h"

namespace lockkeeper::simulation {

// Lifetime: borrows clock and judge.
class StoreWatch {
 public:
  virtual ~StoreWatch() = default;

  // What the store still has of locks.
  virtual int64_t KeysInStore() = 0;

  // Writes each operation, each new marker and each violation to `out`, for people. May be null.
  void TraceTo(std::ostream* out) { trace_ = out; }
  // Writes another event.
  void Trace(std::string_view what);

  // Commands that the store has executed.
  uint64_t executed() const { return executed_; }
  // The coverage of this run, to which the world adds, too.
  Coverage& coverage() { return coverage_; }

 protected:
  StoreWatch(const core::Clock& clock, Judge& judge) : clock_(clock), judge_(judge) {}

  bool traces() const { return trace_ != nullptr; }

  const core::Clock& clock_;
  Judge& judge_;
  uint64_t executed_ = 0;
  Coverage coverage_;

 private:
  void TraceViolations();

  std::ostream* trace_ = nullptr;
  size_t violations_told_ = 0;
};

}  // namespace lockkeeper::simulation
