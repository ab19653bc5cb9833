// SPDX-License-Identifier: Apache-2.0
//
// The locks that etcd serves over gRPC.
#include "bench/peers/etcd.h"

#include "bench/row.h"

namespace lockkeeper::bench {
namespace {

Figures RunLoad(const EtcdServer& etcd, int connections, int outstanding, double seconds) {
  Figures figures = RunProgram({ProgramPath("bench_load"), "etcd", "--address", etcd.address(),
                                "--connections", std::to_string(connections), "--outstanding",
                                std::to_string(outstanding), "--seconds", std::to_string(seconds)});
  figures["cycles_per_s"] = figures.at("rpc_per_s") / 2;
  return figures;
}

Row EtcdRow(int connections, int outstanding) {
  const std::string total = std::to_string(connections * outstanding);
  return {.name = "etcd_" + total,
          .what = "etcd's v3lock with a lease, " + total + " outstanding",
          .rate = "cycles_per_s",
          .latency = "acquire",
          .measure =
              [=](Servers& servers, double seconds) {
                return RunLoad(servers.etcd(), connections, outstanding, seconds);
              },
          .peer = EtcdPeer()};
}

}  // namespace

std::vector<Row> EtcdRows() { return {EtcdRow(1, 1), EtcdRow(4, 64)}; }

}  // namespace lockkeeper::bench
