// SPDX-License-Identifier: Apache-2.0
//
// What is served over HTTP: /healthz, /readyz and /metrics.
#pragma once

#include <string>

#include "core/types.h"
#include "http/request_handler.h"
#include "telemetry/health_board.h"
#include "telemetry/metrics.h"

namespace lockkeeper::http {

// /healthz: 200 as long as the process answers. /readyz: 200 if the daemon serves, and says if it
// grants nothing new; else 503 with the reason in one line. /metrics: the metrics. Anything else:
// 404.
Page PageOf(const std::string& path, const telemetry::HealthBoard& health,
            const telemetry::Metrics& metrics, core::Instant now);

}  // namespace lockkeeper::http
