// SPDX-License-Identifier: Apache-2.0
//
// The pages for operating the daemon: /healthz, /readyz and /metrics.
#pragma once

#include <vector>

#include "core/clock.h"
#include "http/http_server.h"
#include "telemetry/health_board.h"
#include "telemetry/metrics.h"

namespace lockkeeper::http {

// /healthz: 200 unless the daemon's loop stands still. /readyz: 200 if the daemon serves, and says
// if it grants nothing new; else 503 with the reason in one line. /metrics: the metrics. Lifetime:
// the routes borrow the arguments, which must be thread-safe: the server's thread uses them.
std::vector<Route> OperatingPages(const telemetry::HealthBoard& health,
                                  const telemetry::Metrics& metrics, const core::Clock& clock);

}  // namespace lockkeeper::http
