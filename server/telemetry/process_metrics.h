// SPDX-License-Identifier: Apache-2.0
//
// What the kernel knows of this process, read when it is asked for.
#pragma once

#include <utility>
#include <vector>

#include "telemetry/metric_catalog.h"

namespace lockkeeper::telemetry {

// The process_* metrics of the catalog with their values. Those that /proc does not tell are left
// out.
std::vector<std::pair<MetricInfo, double>> ReadProcessMetrics();

}  // namespace lockkeeper::telemetry
