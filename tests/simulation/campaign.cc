// SPDX-License-Identifier: Apache-2.0
#include "simulation/campaign.h"

#include <chrono>

namespace lockkeeper::simulation {
namespace {

struct Totals {
  uint64_t schedules = 0;
  double virtual_seconds = 0;
  uint64_t executed = 0;
  uint64_t grants = 0;
  uint64_t faults = 0;
  uint64_t failed = 0;
};

bool Fails(const Schedule& schedule, support::LuaScripts& lua) {
  return !Run(schedule, lua).violations.empty();
}

void Report(const Schedule& schedule, support::LuaScripts& lua, std::ostream& out) {
  const Schedule small = Shrink(schedule, lua);
  out << "FAILED: ./dev sim --schedules 1 --seed " << schedule.seed << "\n";
  out << "  shrunk to " << small.clients << " of " << schedule.clients << " clients, "
      << small.daemons << " daemons, " << small.locks << " locks, " << small.faults.size() << " of "
      << schedule.faults.size() << " faults\n";
  for (const Fault& fault : small.faults) out << "  " << Describe(fault) << "\n";
  for (const std::string& violation : Run(small, lua).violations) {
    out << "  violation: " << violation << "\n";
  }
}

}  // namespace

Schedule Shrink(const Schedule& failing, support::LuaScripts& lua) {
  Schedule small = failing;
  for (size_t i = small.faults.size(); i-- > 0;) {
    Schedule without = small;
    without.faults.erase(without.faults.begin() + static_cast<ptrdiff_t>(i));
    if (Fails(without, lua)) small = without;
  }
  while (small.clients > 1) {
    Schedule fewer = small;
    --fewer.clients;
    if (!Fails(fewer, lua)) break;
    small = fewer;
  }
  return small;
}

uint64_t RunAll(const std::vector<uint64_t>& seeds, uint64_t failures_max, std::ostream& out) {
  support::LuaScripts lua;
  Totals totals;
  const auto begin = std::chrono::steady_clock::now();
  for (const uint64_t seed : seeds) {
    const Schedule schedule = Draw(seed);
    const Outcome outcome = Run(schedule, lua);
    ++totals.schedules;
    totals.virtual_seconds += std::chrono::duration<double>(outcome.virtual_time).count();
    totals.executed += outcome.executed;
    totals.grants += outcome.grants;
    totals.faults += outcome.faults;
    if (outcome.violations.empty()) continue;
    Report(schedule, lua, out);
    if (++totals.failed >= failures_max) break;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  out << totals.schedules << " schedules ("
      << static_cast<uint64_t>(static_cast<double>(totals.schedules) / seconds) << "/s), "
      << static_cast<uint64_t>(totals.virtual_seconds) << " s of virtual time, " << totals.executed
      << " events, " << totals.grants << " grants, " << totals.faults << " faults, "
      << totals.failed << " violations\n";
  return totals.failed;
}

}  // namespace lockkeeper::simulation
