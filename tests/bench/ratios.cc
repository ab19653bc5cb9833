// SPDX-License-Identifier: Apache-2.0
#include "bench/ratios.h"

namespace lockkeeper::bench {

std::vector<Ratio> Ratios() {
  return {
      {"unary_vs_echo", "unary rpc/s / echo rpc/s, 64 outstanding", ">= 0.80",
       [](const Round& round) {
         return round.at("unary_64").at("rpc_per_s") / round.at("echo_64").at("rpc_per_s");
       }},
      {"unary_overhead_us", "acquire p50 - echo p50 - Redis round trip p50, one at a time", "<= 40",
       [](const Round& round) {
         return round.at("unary_1").at("acquire_p50_us") - round.at("echo_1").at("echo_p50_us") -
                round.at("redis_1").at("acquire_p50_us");
       }},
  };
}

}  // namespace lockkeeper::bench
