// SPDX-License-Identifier: Apache-2.0
//
// One session, at several depths; the same when Redis writes to disk before it answers, when it is
// reached over TCP, in the clear and through TLS, when it is a Cluster, and when it has a replica
// that confirms, or not.
#include "bench/row.h"
#include "bench/rows/service_load.h"

namespace lockkeeper::bench {
namespace {

constexpr Depth kDepths[] = {{1, 1}, {1, 64}, {1, 512}};

Row SessionRow(const Depth& depth) {
  return CyclesRow("session", "acquire and release in a session", depth, MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.service(); });
}

Row DurableRow(const Depth& depth) {
  return CyclesRow("durable_session", "acquire and release in a session on disk", depth,
                   MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.durable(); });
}

Row TcpRow(const Depth& depth) {
  return CyclesRow("tcp_session", "acquire and release in a session, Redis over TCP", depth,
                   MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.tcp(); });
}

Row ClusterRow(const Depth& depth) {
  return CyclesRow("cluster_session", "the same on a Cluster of three primaries", depth,
                   MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.cluster(); });
}

Row TlsRow(const Depth& depth) {
  return CyclesRow("tls_session", "acquire and release in a session, Redis through TLS", depth,
                   MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.tls(); });
}

Row ReplicatedRow(const Depth& depth) {
  return CyclesRow("replicated_session", "acquire and release in a session, Redis has a replica",
                   depth, MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.replicated(); });
}

Row ConfirmedRow(const Depth& depth) {
  return CyclesRow("confirmed_session", "the same, and leases need it", depth, MeasureSession,
                   [](Servers& servers) -> const Service& { return servers.confirmed(); });
}

}  // namespace

std::vector<Row> SessionRows() {
  std::vector<Row> rows;
  for (const Depth& depth : kDepths) rows.push_back(SessionRow(depth));
  return rows;
}

std::vector<Row> TcpRows() {
  constexpr Depth kDeep{1, 512};
  constexpr Depth kSingle{1, 1};
  return {TcpRow(kSingle), TlsRow(kSingle), ClusterRow(kSingle),
          TcpRow(kDeep),   TlsRow(kDeep),   ClusterRow(kDeep)};
}

std::vector<Row> ReplicatedRows() {
  std::vector<Row> rows;
  for (const Depth& depth : kDepths) {
    rows.push_back(ReplicatedRow(depth));
    rows.push_back(ConfirmedRow(depth));
  }
  return rows;
}

std::vector<Row> DurableSessionRows() {
  std::vector<Row> rows;
  for (const Depth& depth : kDepths) rows.push_back(DurableRow(depth));
  return rows;
}

}  // namespace lockkeeper::bench
