// SPDX-License-Identifier: Apache-2.0
//
// Unary calls to the daemon, each beside a bare echo over the same connections.
#include "bench/load/process_stat.h"
#include "bench/row.h"
#include "bench/rows/service_load.h"

namespace lockkeeper::bench {
namespace {

constexpr Depth kOne{1, 1};
constexpr Depth kSixtyFour{4, 16};
constexpr Depth kFiveHundred{8, 64};

struct Echo {
  std::string name;
  std::string target;  // As `bench_load unary` has it.
  std::string what;
};

const Echo kEcho{"echo", "echo", "bare gRPC echo"};
// The most that a daemon can do that answers from a thread of its own.
const Echo kEchoByThread{"echo_by_thread", "echo-by-thread", "echo answered by another thread"};

Row EchoRow(const Echo& echo, const Depth& depth) {
  return {.name = echo.name + depth.Suffix(),
          .what = echo.what + ", " + depth.Text(),
          .rate = "rpc_per_s",
          .latency = "echo",
          .measure = [depth, target = echo.target](Servers& servers, double seconds) {
            const double cpu_before = CpuMicros(servers.echo());
            Figures figures = RunProgram({ProgramPath("bench_load"), "unary", "--target", target,
                                          "--address", servers.echo_address(), "--connections",
                                          std::to_string(depth.connections), "--outstanding",
                                          std::to_string(depth.outstanding), "--seconds",
                                          std::to_string(seconds)});
            figures["server_cpu_us_per_rpc"] =
                (CpuMicros(servers.echo()) - cpu_before) / figures.at("calls");
            return figures;
          }};
}

Row UnaryRow(const Depth& depth) {
  return {.name = "unary" + depth.Suffix(),
          .what = "unary acquire and release in turn, " + depth.Text(),
          .rate = "rpc_per_s",
          .latency = "acquire",
          .measure = [depth](Servers& servers, double seconds) {
            return MeasureUnary(servers.service(), depth, seconds);
          }};
}

}  // namespace

std::vector<Row> UnaryRows() {
  return {EchoRow(kEcho, kSixtyFour),
          EchoRow(kEchoByThread, kSixtyFour),
          UnaryRow(kSixtyFour),
          UnaryRow(kFiveHundred),
          EchoRow(kEcho, kOne),
          EchoRow(kEchoByThread, kOne),
          UnaryRow(kOne)};
}

}  // namespace lockkeeper::bench
