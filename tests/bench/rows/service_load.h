// SPDX-License-Identifier: Apache-2.0
//
// Cycles of acquire and release through a daemon, by unary calls or in sessions, at some depth.
#pragma once

#include <string>

#include "bench/row.h"
#include "bench/service.h"

namespace lockkeeper::bench {

struct Depth {
  int connections;
  int outstanding;  // Of each connection.

  int total() const { return connections * outstanding; }
  std::string Text() const { return std::to_string(total()) + " outstanding"; }
  std::string Suffix() const { return "_" + std::to_string(total()); }
};

// The figures of the load, with the servers' processor time for each operation, and cycles_per_s.
Figures MeasureUnary(const Service& service, const Depth& depth, double seconds);
Figures MeasureSession(const Service& service, const Depth& depth, double seconds);

// The same with one watch of all locks beside.
Figures MeasureWatchedUnary(const Service& service, const Depth& depth, double seconds);
Figures MeasureWatchedSession(const Service& service, const Depth& depth, double seconds);
// With one watch, of other locks.
Figures MeasureSessionWatchedElsewhere(const Service& service, const Depth& depth, double seconds);
// With four, and one that does not read; daemon_mib_more is what the daemon takes then.
Figures MeasureCrowdedSession(const Service& service, const Depth& depth, double seconds);

// A row of such cycles: `measure` puts its load on what `service` names of the servers.
Row CyclesRow(const std::string& name, const std::string& what, const Depth& depth,
              Figures (*measure)(const Service&, const Depth&, double),
              const Service& (*service)(Servers&));

}  // namespace lockkeeper::bench
