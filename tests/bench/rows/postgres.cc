// SPDX-License-Identifier: Apache-2.0
//
// PostgreSQL's advisory locks: pgbench takes and frees them, each connection its own.
#include "bench/peers/postgres.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

#include "bench/row.h"

namespace lockkeeper::bench {
namespace {

constexpr int kThreadsMax = 2;

// One cycle. Statements are prepared once; what is locked is the number of the connection.
constexpr const char* kCycle =
    "SELECT pg_advisory_lock(:client_id);\n"
    "SELECT pg_advisory_unlock(:client_id);\n";

double NumberAfter(const std::string& text, const std::string& words) {
  const size_t at = text.find(words);
  if (at == std::string::npos) throw std::runtime_error("pgbench prints no " + words + text);
  return std::stod(text.substr(at + words.size()));
}

Figures RunPgbench(const PostgresServer& server, int connections, double seconds) {
  const support::TemporaryDirectory directory;
  const std::string script = directory.Path("cycle.sql");
  std::ofstream(script) << kCycle;
  // It measures whole seconds, from when all connections are there.
  const std::string output = OutputOf(
      {PostgresProgram("pgbench"), "--no-vacuum", "--protocol=prepared", "--file=" + script,
       "--client=" + std::to_string(connections),
       "--jobs=" + std::to_string(std::min(connections, kThreadsMax)),
       "--time=" + std::to_string(std::lround(std::ceil(seconds))),
       "--host=" + server.socket_folder(), "--username=" + PostgresServer::user(), "postgres"});
  return {{"cycles_per_s", NumberAfter(output, "tps = ")},
          {"cycle_mean_us", 1000 * NumberAfter(output, "latency average = ")}};
}

Row PostgresRow(int connections) {
  return {.name = "postgres_" + std::to_string(connections),
          .what = "PostgreSQL advisory lock and unlock, " + std::to_string(connections) +
                  (connections == 1 ? " connection" : " connections"),
          .rate = "cycles_per_s",
          .latency = "",
          .measure =
              [=](Servers& servers, double seconds) {
                return RunPgbench(servers.postgres(), connections, seconds);
              },
          .peer = PostgresPeer()};
}

}  // namespace

std::vector<Row> PostgresRows() { return {PostgresRow(1), PostgresRow(16)}; }

}  // namespace lockkeeper::bench
