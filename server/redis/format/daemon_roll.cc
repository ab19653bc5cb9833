// SPDX-License-Identifier: Apache-2.0
#include "redis/format/daemon_roll.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace lockkeeper::redis {

const RollEntry* DaemonRoll::Find(std::string_view id) const {
  const auto found = std::ranges::find(entries, id, &RollEntry::id);
  return found == entries.end() ? nullptr : &*found;
}

DaemonRoll ParseRoll(std::string_view text) {
  DaemonRoll roll;
  std::istringstream in{std::string(text)};
  std::string format;
  std::string early;
  if (!(in >> format >> roll.version >> roll.epoch >> early) || format != "1") return {};
  roll.may_end_early = early == "E";
  RollEntry entry;
  std::string state;
  while (in >> entry.id >> entry.beat.micros >> entry.seen >> entry.joined >> entry.restored >>
         state) {
    using enum RollEntry::State;
    const RollEntry::State stays = state == "A" ? kActive : kJoins;
    entry.state = state == "L" ? kLeft : stays;
    roll.entries.push_back(entry);
  }
  return roll;
}

}  // namespace lockkeeper::redis
