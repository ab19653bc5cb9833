// SPDX-License-Identifier: Apache-2.0
//
// One session, at several depths; and the same when Redis writes to disk before it answers.
#include "bench/row.h"
#include "bench/rows/service_load.h"

namespace lockkeeper::bench {
namespace {

constexpr Depth kDepths[] = {{1, 1}, {1, 64}, {1, 512}};

Row SessionRow(const Depth& depth) {
  return {.name = "session" + depth.Suffix(),
          .what = "acquire and release in a session, " + depth.Text(),
          .rate = "cycles_per_s",
          .latency = "acquire",
          .measure = [depth](Servers& servers, double seconds) {
            return MeasureSession(servers.service(), depth, seconds);
          }};
}

Row DurableRow(const Depth& depth) {
  return {.name = "durable_session" + depth.Suffix(),
          .what = "acquire and release in a session on disk, " + depth.Text(),
          .rate = "cycles_per_s",
          .latency = "acquire",
          .measure = [depth](Servers& servers, double seconds) {
            return MeasureSession(servers.durable(), depth, seconds);
          }};
}

}  // namespace

std::vector<Row> SessionRows() {
  std::vector<Row> rows;
  for (const Depth& depth : kDepths) rows.push_back(SessionRow(depth));
  return rows;
}

std::vector<Row> DurableSessionRows() {
  std::vector<Row> rows;
  for (const Depth& depth : kDepths) rows.push_back(DurableRow(depth));
  return rows;
}

}  // namespace lockkeeper::bench
