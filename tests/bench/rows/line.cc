// SPDX-License-Identifier: Apache-2.0
//
// The line of waiters: hand-overs, and what those cost who only wait. Each on a daemon of its own,
// since one that had many waiters before has their memory still.
#include <algorithm>

#include "bench/row.h"

namespace lockkeeper::bench {
namespace {

constexpr int kHandOversMax = 200;

Row LineRow(const std::string& name, const std::string& what, int waiters, bool one_lock) {
  return {.name = name,
          .what = what,
          .rate = "",
          .latency = "grant",
          .measure = [=](Servers& servers, double seconds) {
            support::DaemonProcess daemon(DaemonOn(servers.redis().url()));
            daemon.WaitUntilReady();
            std::vector<std::string> command = WatchedLoad("line", daemon, servers.redis());
            command.insert(command.end(), {"--waiters", std::to_string(waiters), "--hand-overs",
                                           std::to_string(std::min(waiters, kHandOversMax)),
                                           "--seconds", std::to_string(seconds)});
            if (!one_lock) command.emplace_back("--own-locks");
            return RunProgram(command);
          }};
}

}  // namespace

std::vector<Row> LineRows() {
  return {
      LineRow("line_10", "hand-over to the next of 10 waiters on one lock", 10, true),
      LineRow("line_1000", "hand-over to the next of 1,000 waiters on one lock", 1000, true),
      LineRow("line_10000", "hand-over to the next of 10,000 waiters on one lock", 10'000, true),
      LineRow("line_own_10000", "hand-over, 10,000 waiters on 10,000 locks", 10'000, false)};
}

}  // namespace lockkeeper::bench
