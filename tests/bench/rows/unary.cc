// SPDX-License-Identifier: Apache-2.0
//
// Unary calls to the daemon, each beside a bare echo over the same connections.
#include <sys/types.h>

#include "bench/load/process_stat.h"
#include "bench/row.h"

namespace lockkeeper::bench {
namespace {

struct Depth {
  int connections;
  int outstanding;  // Of each connection.

  int total() const { return connections * outstanding; }
  std::string Text() const { return std::to_string(total()) + " outstanding"; }
  std::string Suffix() const { return "_" + std::to_string(total()); }
};

constexpr Depth kSixtyFour{4, 16};
constexpr Depth kOne{1, 1};

struct Target {
  std::string kind;  // "locks" or "echo"
  std::string address;
  pid_t server;
};

Figures RunLoad(const Target& target, const Depth& depth, double seconds) {
  const double cpu_before = CpuMicros(target.server);
  Figures figures = RunProgram(
      {ProgramPath("bench_unary_load"), "--target", target.kind, "--address", target.address,
       "--connections", std::to_string(depth.connections), "--outstanding",
       std::to_string(depth.outstanding), "--seconds", std::to_string(seconds)});
  figures["server_cpu_us_per_rpc"] = (CpuMicros(target.server) - cpu_before) / figures.at("calls");
  return figures;
}

Row EchoRow(const Depth& depth) {
  return {.name = "echo" + depth.Suffix(),
          .what = "bare gRPC echo, " + depth.Text(),
          .rate = "rpc_per_s",
          .latency = "echo",
          .measure = [depth](Servers& servers, double seconds) {
            return RunLoad({"echo", servers.echo_address(), servers.echo()}, depth, seconds);
          }};
}

Figures MeasureUnary(const Depth& depth, Servers& servers, double seconds) {
  const pid_t redis = servers.redis().pid();
  const double redis_before = CpuMicros(redis);
  const support::DaemonProcess& daemon = servers.daemon();
  Figures figures = RunLoad({"locks", daemon.GrpcAddress(), daemon.pid()}, depth, seconds);
  figures["redis_cpu_us_per_rpc"] = (CpuMicros(redis) - redis_before) / figures.at("calls");
  return figures;
}

Row UnaryRow(const Depth& depth) {
  return {.name = "unary" + depth.Suffix(),
          .what = "unary acquire and release in turn, " + depth.Text(),
          .rate = "rpc_per_s",
          .latency = "acquire",
          .measure = [depth](Servers& servers, double seconds) {
            return MeasureUnary(depth, servers, seconds);
          }};
}

}  // namespace

std::vector<Row> UnaryRows() {
  return {EchoRow(kSixtyFour), UnaryRow(kSixtyFour), EchoRow(kOne), UnaryRow(kOne)};
}

}  // namespace lockkeeper::bench
