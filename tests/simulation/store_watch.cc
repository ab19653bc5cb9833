// SPDX-License-Identifier: Apache-2.0
#include "simulation/store_watch.h"

#include <chrono>
#include <string>

#include "support/manual_clock.h"

namespace lockkeeper::simulation {
namespace {

std::string TimeOf(const core::Clock& clock) {
  const auto since_start = clock.Now() - support::ManualClock().Now();
  return std::to_string(std::chrono::duration_cast<core::Micros>(since_start).count()) + " us: ";
}

}  // namespace

void StoreWatch::Trace(std::string_view what) {
  if (trace_ == nullptr) return;
  TraceViolations();
  *trace_ << TimeOf(clock_) << what << "\n";
}

void StoreWatch::TraceViolations() {
  for (; violations_told_ < judge_.violations().size(); ++violations_told_) {
    *trace_ << TimeOf(clock_) << "VIOLATION: " << judge_.violations()[violations_told_] << "\n";
  }
}

}  // namespace lockkeeper::simulation
