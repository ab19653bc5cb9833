// SPDX-License-Identifier: Apache-2.0
//
// Our scripts straight on Redis: what the store gives if there were no daemon.
#include "bench/row.h"

namespace lockkeeper::bench {
namespace {

constexpr int kCallsInFlight = 16;

Row RedisRow(const std::string& name, const std::string& what, int locks, int calls) {
  return {.name = name,
          .what = "our scripts straight on Redis, " + what,
          .rate = "cycles_per_s",
          .latency = "acquire",
          .measure = [=](Servers& servers, double seconds) {
            return RunProgram({ProgramPath("bench_load"), "redis", "--socket",
                               servers.redis().socket_path(), "--locks-per-call",
                               std::to_string(locks), "--calls-in-flight", std::to_string(calls),
                               "--seconds", std::to_string(seconds)});
          }};
}

Row PipelinedRow(int locks) {
  const std::string number = std::to_string(locks);
  return RedisRow("redis_locks_" + number,
                  number + (locks == 1 ? " lock" : " locks") + " a call, 16 calls in flight", locks,
                  kCallsInFlight);
}

}  // namespace

std::vector<Row> RedisRows() {
  return {RedisRow("redis_1", "one call at a time", 1, 1), PipelinedRow(1), PipelinedRow(16),
          PipelinedRow(32), PipelinedRow(64)};
}

}  // namespace lockkeeper::bench
