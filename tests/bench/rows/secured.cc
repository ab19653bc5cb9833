// SPDX-License-Identifier: Apache-2.0
//
// What it costs to know who calls: the same cycles at a daemon without anything, with an audit
// trail, and with mutual TLS, a policy and the trail.
#include "bench/row.h"
#include "bench/rows/service_load.h"

namespace lockkeeper::bench {
namespace {

constexpr Depth kSession{1, 512};
constexpr Depth kUnary{4, 16};

const Service& Plain(Servers& servers) { return servers.service(); }
const Service& Audited(Servers& servers) { return servers.audited(); }
const Service& Secured(Servers& servers) { return servers.secured(); }

}  // namespace

std::vector<Row> SecuredRows() {
  return {
      CyclesRow("plain_session", "acquire and release in a session", kSession, MeasureSession,
                Plain),
      CyclesRow("audit_session", "the same with an audit trail", kSession, MeasureSession, Audited),
      CyclesRow("secured_session", "with mutual TLS, policy and audit trail", kSession,
                MeasureSession, Secured),
      CyclesRow("plain_unary", "unary acquire and release", kUnary, MeasureUnary, Plain),
      CyclesRow("audit_unary", "the same with an audit trail", kUnary, MeasureUnary, Audited),
      CyclesRow("secured_unary", "with mutual TLS, policy and audit trail", kUnary, MeasureUnary,
                Secured),
  };
}

}  // namespace lockkeeper::bench
