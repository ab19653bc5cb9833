// SPDX-License-Identifier: Apache-2.0
//
// One line of the table: something that is measured once in each round.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/peers/peer.h"
#include "bench/program.h"
#include "bench/servers.h"

namespace lockkeeper::bench {

struct Row {
  std::string name;     // In the JSON and in ratios.cc.
  std::string what;     // For people.
  std::string rate;     // The figure that the table shows as rate, such as rpc_per_s. May be empty.
  std::string latency;  // And as latency: LATENCY_p50_us and LATENCY_p99_us.
  // Measures for about `seconds`.
  std::function<Figures(Servers&, double seconds)> measure;
  std::optional<Peer> peer = {};  // Whom it measures, if it is not us.
};

// One file in rows/ for each. Rows that a ratio compares stand side by side.
std::vector<Row> UnaryRows();
std::vector<Row> RedisRows();
std::vector<Row> SessionRows();
std::vector<Row> NodeRows();
std::vector<Row> DurableRows();
std::vector<Row> DurableSessionRows();
std::vector<Row> TcpRows();
std::vector<Row> ReplicatedRows();
std::vector<Row> SecuredRows();
std::vector<Row> EtcdRows();
std::vector<Row> PostgresRows();
std::vector<Row> LineRows();
std::vector<Row> HeldRows();
std::vector<Row> InstructionRows();

// All of them, in the order of the table.
std::vector<Row> AllRows();

}  // namespace lockkeeper::bench
