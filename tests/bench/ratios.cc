// SPDX-License-Identifier: Apache-2.0
#include "bench/ratios.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

double CyclesPerSecond(const Round& round, const std::string& row) {
  return round.at(row).at("cycles_per_s");
}

// Of the fastest of these rows.
double BestOf(const Round& round, const std::vector<std::string>& rows) {
  double best = 0;
  for (const std::string& row : rows) best = std::max(best, CyclesPerSecond(round, row));
  return best;
}

// Cycles per second of one row / of another one.
Ratio Share(const std::string& name, const std::string& meaning, const std::string& target,
            const std::string& row, const std::string& of) {
  return {name, meaning, target, [=](const Round& round) {
            return CyclesPerSecond(round, row) / CyclesPerSecond(round, of);
          }};
}

std::vector<Ratio> SecuredRatios() {
  return {
      Share("audit_session_vs_plain", "cycles/s with an audit trail, 512 outstanding / without",
            ">= 0.95", "audit_session_512", "plain_session_512"),
      Share("traced_session_vs_plain", "the same with traces of 1 %", ">= 0.95",
            "traced_session_512", "plain_session_512"),
      Share("observed_session_vs_plain", "with an audit trail and traces of 1 %", ">= 0.95",
            "observed_session_512", "plain_session_512"),
      Share("watched_elsewhere_vs_plain", "the same, and a watch of other locks", ">= 0.95",
            "watched_elsewhere_session_512", "plain_session_512"),
      Share("watched_session_vs_plain", "the same, but a watch of all locks", ">= 0.95",
            "watched_session_512", "plain_session_512"),
      Plain("watched_events_per_s", "events that each of four watches is told", ">= 50000",
            "crowded_session_512", "watched_events_per_s"),
      Share("crowded_session_vs_plain", "with these four, and one that does not read", "-",
            "crowded_session_512", "plain_session_512"),
      Plain("deaf_watch_gaps", "gaps that a watch is told which did not read", ">= 1",
            "crowded_session_512", "deaf_gaps"),
      Plain("crowded_daemon_mib", "MiB that the daemon takes more with the five watches", "<= 64",
            "crowded_session_512", "daemon_mib_more"),
      Share("fully_traced_session_vs_plain", "with traces of all operations", "-",
            "fully_traced_session_512", "plain_session_512"),
      Share("secured_session_vs_plain", "with an audit trail, mutual TLS and a policy", ">= 0.90",
            "secured_session_512", "plain_session_512"),
      Share("audit_unary_vs_plain", "unary cycles/s with an audit trail, 64 outstanding / without",
            ">= 0.95", "audit_unary_64", "plain_unary_64"),
      Share("traced_unary_vs_plain", "the same with traces of 1 %", ">= 0.95", "traced_unary_64",
            "plain_unary_64"),
      Share("observed_unary_vs_plain", "with an audit trail and traces of 1 %", ">= 0.90",
            "observed_unary_64", "plain_unary_64"),
      Share("watched_unary_vs_plain", "the same, and a watch of all locks", ">= 0.90",
            "watched_unary_64", "plain_unary_64"),
      Share("fully_traced_unary_vs_plain", "with traces of all calls", "-", "fully_traced_unary_64",
            "plain_unary_64"),
      Share("secured_unary_vs_plain", "with an audit trail, mutual TLS and a policy", ">= 0.85",
            "secured_unary_64", "plain_unary_64"),
  };
}

std::vector<Ratio> SessionRatios() {
  return {
      {"session_vs_ioredis", "cycles/s in a session, 512 outstanding / ioredis at its best",
       ">= 2.2",
       [](const Round& round) {
         return CyclesPerSecond(round, "session_512") /
                BestOf(round, {"ioredis_1", "ioredis_64", "ioredis_auto_256"});
       }},
      {"session_vs_redis_ceiling", "the same / our scripts straight on Redis at their best",
       ">= 0.80",
       [](const Round& round) {
         return CyclesPerSecond(round, "session_512") /
                BestOf(round,
                       {"redis_locks_1", "redis_locks_16", "redis_locks_32", "redis_locks_64"});
       }},
      {"durable_session_vs_etcd", "cycles/s on disk, 512 outstanding / etcd at its best", ">= 10",
       [](const Round& round) {
         return CyclesPerSecond(round, "durable_session_512") /
                BestOf(round, {"etcd_1", "etcd_256"});
       }},
      {"tls_session_vs_plain", "cycles/s with TLS to Redis, 512 outstanding / in the clear",
       ">= 0.80",
       [](const Round& round) {
         return CyclesPerSecond(round, "tls_session_512") /
                CyclesPerSecond(round, "tcp_session_512");
       }},
      {"cluster_cpu_vs_one_redis",
       "the daemon's CPU time for an operation, 512 outstanding, on a Cluster / on one Redis",
       "<= 1.15",
       [](const Round& round) {
         return round.at("cluster_session_512").at("server_cpu_us_per_rpc") /
                round.at("tcp_session_512").at("server_cpu_us_per_rpc");
       }},
      Share("confirmed_session_vs_primary",
            "cycles/s of leases that need a replica, 512 outstanding / that do not", ">= 0.60",
            "confirmed_session_512", "replicated_session_512"),
      {"session_depth1_vs_unary", "acquire p50 one at a time, in a session / unary", "<= 1.0",
       [](const Round& round) {
         return round.at("session_1").at("acquire_p50_us") /
                round.at("unary_1").at("acquire_p50_us");
       }},
      Plain("heartbeat_cpu_daemon", "cores that the daemon uses to keep 100,000 leases", "<= 0.10",
            "held_100000", "heartbeat_daemon_cores"),
      Plain("heartbeat_cpu_redis", "cores that Redis uses for it", "<= 0.10", "held_100000",
            "heartbeat_redis_cores"),
      Plain("bytes_per_lease", "memory of the daemon, 100,000 leases in a session", "<= 400",
            "held_100000", "bytes_per_lease"),
      Plain("bytes_per_waiter", "memory of the daemon, 10,000 waiters in a session", "<= 1024",
            "session_waiters_10000", "bytes_per_waiter"),
      {"instructions_growth", "instructions for an operation, 999,000 leases held / 1,000",
       "<= 1.1",
       [](const Round& round) {
         return round.at("instructions_999000").at("instructions_per_operation") /
                round.at("instructions_1000").at("instructions_per_operation");
       }},
  };
}

std::vector<Ratio> UnaryAndLineRatios() {
  return {
      {"unary_vs_echo", "unary rpc/s / echo rpc/s, 64 outstanding", ">= 0.80",
       [](const Round& round) {
         return round.at("unary_64").at("rpc_per_s") / round.at("echo_64").at("rpc_per_s");
       }},
      {"secured_echo_vs_echo", "the same echo with mutual TLS / without", "-",
       [](const Round& round) {
         return round.at("secured_echo_64").at("rpc_per_s") / round.at("echo_64").at("rpc_per_s");
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

}  // namespace

std::vector<Ratio> Ratios() {
  std::vector<Ratio> all = UnaryAndLineRatios();
  for (std::vector<Ratio> more : {SessionRatios(), SecuredRatios()}) {
    std::move(more.begin(), more.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace lockkeeper::bench
