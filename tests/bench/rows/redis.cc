// SPDX-License-Identifier: Apache-2.0
//
// Our scripts straight on Redis: what the store gives if there were no daemon.
#include "bench/row.h"

namespace lockkeeper::bench {

std::vector<Row> RedisRows() {
  return {{.name = "redis_1",
           .what = "our scripts straight on Redis, one call at a time",
           .rate = "cycles_per_s",
           .latency = "acquire",
           .measure = [](const Servers& servers, double seconds) {
             return RunProgram({ProgramPath("bench_redis_load"), "--socket",
                                servers.redis().socket_path(), "--seconds",
                                std::to_string(seconds)});
           }}};
}

}  // namespace lockkeeper::bench
