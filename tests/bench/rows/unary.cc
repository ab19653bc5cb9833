// SPDX-License-Identifier: Apache-2.0
//
// Unary calls to the daemon, each beside a bare echo over the same connections.
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
// What gRPC and OpenSSL take for it, whoever answers.
const Echo kSecuredEcho{"secured_echo", "echo", "the same with mutual TLS"};
// The most that a daemon can do that answers from a thread of its own.
const Echo kEchoByThread{"echo_by_thread", "echo-by-thread", "echo answered by another thread"};

const EchoServer& InTheClear(Servers& servers) { return servers.echo(); }
const EchoServer& Secured(Servers& servers) { return servers.secured_echo(); }

Row EchoRow(const Echo& echo, const Depth& depth,
            const EchoServer& (*server_of)(Servers&) = InTheClear) {
  return {.name = echo.name + depth.Suffix(),
          .what = echo.what + ", " + depth.Text(),
          .rate = "rpc_per_s",
          .latency = "echo",
          .measure = [=, target = echo.target](Servers& servers, double seconds) {
            const EchoServer& server = server_of(servers);
            std::vector<std::string> command = {ProgramPath("bench_load"),
                                                "unary",
                                                "--target",
                                                target,
                                                "--address",
                                                server.address(),
                                                "--connections",
                                                std::to_string(depth.connections),
                                                "--outstanding",
                                                std::to_string(depth.outstanding),
                                                "--seconds",
                                                std::to_string(seconds)};
            command.insert(command.end(), server.client_words().begin(),
                           server.client_words().end());
            const double cpu_before = server.CpuSeconds();
            Figures figures = RunProgram(command);
            figures["server_cpu_us_per_rpc"] =
                (server.CpuSeconds() - cpu_before) * 1e6 / figures.at("calls");
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
          EchoRow(kSecuredEcho, kSixtyFour, Secured),
          EchoRow(kEchoByThread, kSixtyFour),
          UnaryRow(kSixtyFour),
          UnaryRow(kFiveHundred),
          EchoRow(kEcho, kOne),
          EchoRow(kEchoByThread, kOne),
          UnaryRow(kOne)};
}

}  // namespace lockkeeper::bench
