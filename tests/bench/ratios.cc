// SPDX-License-Identifier: Apache-2.0
#include "bench/ratios.h"

namespace lockkeeper::bench {
namespace {

// A figure of one row, as it is.
Ratio Plain(const std::string& name, const std::string& meaning, const std::string& target,
            const std::string& row, const std::string& figure) {
  return {name, meaning, target, [=](const Round& round) { return round.at(row).at(figure); }};
}

// From sending Release, in round trips of the same row.
Ratio HandOver(const std::string& name, const std::string& meaning, const std::string& target,
               const std::string& row, const std::string& figure) {
  return {name, meaning, target, [=](const Round& round) {
            return round.at(row).at(figure) / round.at(row).at("round_trip_p50_us");
          }};
}

}  // namespace

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
      HandOver("offer_vs_round_trip_10", "Release sent to offer / round trip, 10 waiters", "<= 1.5",
               "line_10", "offer_p50_us"),
      HandOver("claim_vs_round_trip_10", "Release sent to claim answered / round trip", "<= 2.5",
               "line_10", "claim_p50_us"),
      HandOver("offer_vs_round_trip_10000", "the same, 10,000 waiters", "<= 1.5", "line_10000",
               "offer_p50_us"),
      HandOver("claim_vs_round_trip_10000", "the same, 10,000 waiters", "<= 2.5", "line_10000",
               "claim_p50_us"),
      Plain("sent_per_hand_over", "script calls of daemons, 10,000 waiters", "<= 4", "line_10000",
            "sent_per_hand_over"),
      {"inside_growth", "commands in scripts per hand-over, 10,000 waiters / 10", "<= 1.05",
       [](const Round& round) {
         return round.at("line_10000").at("inside_per_hand_over") /
                round.at("line_10").at("inside_per_hand_over");
       }},
      Plain("idle_waiters_one_lock", "cores that the daemon uses for 10,000 waiters", "< 0.02",
            "line_10000", "idle_daemon_cores"),
      Plain("idle_waiters_own_locks", "the same on 10,000 locks", "< 0.10", "line_own_10000",
            "idle_daemon_cores"),
      Plain("bytes_per_unary_waiter", "memory of the daemon, 10,000 waiters", "<= 20480",
            "line_10000", "bytes_per_waiter"),
  };
}

}  // namespace lockkeeper::bench
