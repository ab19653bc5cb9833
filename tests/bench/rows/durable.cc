// SPDX-License-Identifier: Apache-2.0
//
// Unary calls when Redis writes to disk before it answers (`appendfsync always`).
#include "bench/row.h"
#include "bench/rows/service_load.h"

namespace lockkeeper::bench {
namespace {

Row DurableRow(const Depth& depth) {
  return CyclesRow("durable_unary", "unary acquire and release on disk", depth, MeasureUnary,
                   [](Servers& servers) -> const Service& { return servers.durable(); });
}

}  // namespace

std::vector<Row> DurableRows() {
  return {DurableRow({1, 1}), DurableRow({4, 16}), DurableRow({8, 64})};
}

}  // namespace lockkeeper::bench
