// SPDX-License-Identifier: Apache-2.0
//
// What programs in Node.js use for locks: libraries that talk to Redis themselves.
#include "bench/peers/node.h"
#include "bench/row.h"

namespace lockkeeper::bench {
namespace {

Row NodeRow(const std::string& name, const std::string& package, int outstanding,
            bool auto_pipelining) {
  return {.name = name,
          .what = (package == "ioredis" ? "SET NX PX, compare-and-delete on ioredis"
                                        : package + " on ioredis") +
                  (auto_pipelining ? ", auto-pipelining, " : ", ") + std::to_string(outstanding) +
                  " outstanding",
          .rate = "cycles_per_s",
          .latency = "acquire",
          .measure =
              [=](Servers& servers, double seconds) {
                std::vector<std::string> command = {
                    "node",          NodeFolder() + "/" + package + "_locks.js",
                    "--socket",      servers.redis().socket_path(),
                    "--outstanding", std::to_string(outstanding),
                    "--seconds",     std::to_string(seconds)};
                if (auto_pipelining) command.emplace_back("--auto-pipelining");
                return RunProgram(command);
              },
          .peer = NodePeer(package)};
}

}  // namespace

std::vector<Row> NodeRows() {
  return {NodeRow("ioredis_1", "ioredis", 1, false), NodeRow("ioredis_64", "ioredis", 64, false),
          NodeRow("ioredis_auto_256", "ioredis", 256, true),
          NodeRow("redlock_256", "redlock", 256, false)};
}

}  // namespace lockkeeper::bench
