// SPDX-License-Identifier: Apache-2.0
#include "tracing/trace_clock.h"

#include <chrono>

#include "core/types.h"
#include "os/boot_clock.h"

namespace lockkeeper::tracing {

telemetry::LogTime SystemTraceTime() {
  return {.wall = std::chrono::system_clock::now(), .monotonic = core::Instant(os::BootTime())};
}

}  // namespace lockkeeper::tracing
