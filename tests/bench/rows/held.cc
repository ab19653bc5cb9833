// SPDX-License-Identifier: Apache-2.0
//
// What sessions cost that only hold or wait. Each row has a service of its own, since one that did
// something before has memory from then.
#include "bench/row.h"
#include "bench/service.h"

namespace lockkeeper::bench {
namespace {

Row HeldRow(const std::string& name, const std::string& what, const std::string& latency,
            const std::vector<std::string>& load) {
  return {
      .name = name, .what = what, .rate = "", .latency = latency, .measure = [=](Servers&, double) {
        const RedisService service;
        std::vector<std::string> command = WatchedLoad("held", service.daemon(), service.redis());
        command.insert(command.end(), load.begin(), load.end());
        return RunProgram(command);
      }};
}

}  // namespace

std::vector<Row> HeldRows() {
  return {HeldRow("held_100000", "a heartbeat for 100,000 leases of 30 s, each 10 s, for 40 s",
                  "heartbeat", {"--leases", "100000"}),
          HeldRow("session_waiters_10000", "10,000 waiters on one lock in a session", "",
                  {"--waiters", "10000"})};
}

}  // namespace lockkeeper::bench
