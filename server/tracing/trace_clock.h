// SPDX-License-Identifier: Apache-2.0
//
// The time of spans.
#pragma once

#include "telemetry/log.h"

namespace lockkeeper::tracing {

// The wall clock, and CLOCK_BOOTTIME. Thread-safety: thread-safe.
telemetry::LogTime SystemTraceTime();

}  // namespace lockkeeper::tracing
