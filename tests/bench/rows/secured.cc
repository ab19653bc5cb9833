// SPDX-License-Identifier: Apache-2.0
//
// What it costs to know who calls, and to look at it: the same cycles at a daemon without anything,
// with an audit trail, with traces, with both, with a watch besides, and with mutual TLS, a policy
// and the trail.
#include "bench/row.h"
#include "bench/rows/service_load.h"

namespace lockkeeper::bench {
namespace {

constexpr Depth kSession{1, 512};
constexpr Depth kUnary{4, 16};

const Service& Plain(Servers& servers) { return servers.service(); }
const Service& Audited(Servers& servers) { return servers.audited(); }
const Service& Traced(Servers& servers) { return servers.traced(); }
const Service& FullyTraced(Servers& servers) { return servers.fully_traced(); }
const Service& Observed(Servers& servers) { return servers.observed(); }
const Service& Secured(Servers& servers) { return servers.secured(); }

}  // namespace

std::vector<Row> SecuredRows() {
  return {
      CyclesRow("plain_session", "acquire and release in a session", kSession, MeasureSession,
                Plain),
      CyclesRow("audit_session", "the same with an audit trail", kSession, MeasureSession, Audited),
      CyclesRow("traced_session", "with traces of 1 %", kSession, MeasureSession, Traced),
      CyclesRow("fully_traced_session", "with traces of all operations", kSession, MeasureSession,
                FullyTraced),
      CyclesRow("observed_session", "with an audit trail and traces of 1 %", kSession,
                MeasureSession, Observed),
      CyclesRow("watched_elsewhere_session", "the same, and a watch of other locks", kSession,
                MeasureSessionWatchedElsewhere, Observed),
      CyclesRow("watched_session", "the same, but a watch of all locks", kSession,
                MeasureWatchedSession, Observed),
      CyclesRow("crowded_session", "four watches of all locks, and one that does not read",
                kSession, MeasureCrowdedSession, Plain),
      CyclesRow("secured_session", "with mutual TLS, policy and audit trail", kSession,
                MeasureSession, Secured),
      CyclesRow("plain_unary", "unary acquire and release", kUnary, MeasureUnary, Plain),
      CyclesRow("audit_unary", "the same with an audit trail", kUnary, MeasureUnary, Audited),
      CyclesRow("traced_unary", "with traces of 1 %", kUnary, MeasureUnary, Traced),
      CyclesRow("fully_traced_unary", "with traces of all calls", kUnary, MeasureUnary,
                FullyTraced),
      CyclesRow("observed_unary", "with an audit trail and traces of 1 %", kUnary, MeasureUnary,
                Observed),
      CyclesRow("watched_unary", "the same, and a watch of all locks", kUnary, MeasureWatchedUnary,
                Observed),
      CyclesRow("secured_unary", "with mutual TLS, policy and audit trail", kUnary, MeasureUnary,
                Secured),
  };
}

}  // namespace lockkeeper::bench
