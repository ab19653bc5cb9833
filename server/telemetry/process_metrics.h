// SPDX-License-Identifier: Apache-2.0
//
// The metrics that the kernel has of this process, read on demand.
#pragma once

#include <utility>
#include <vector>

#include "telemetry/metric_catalog.h"

namespace lockkeeper::telemetry {

// The process_* metrics of the catalog with their values, without those that /proc does not have.
std::vector<std::pair<MetricInfo, double>> ReadProcessMetrics();

}  // namespace lockkeeper::telemetry
