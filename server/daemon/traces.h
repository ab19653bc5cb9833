// SPDX-License-Identifier: Apache-2.0
//
// What traces operations, put together of the settings traces.*: the tracer and the exporter behind
// it.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "config/config.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"
#include "tracing/exporter.h"
#include "tracing/tracer.h"

namespace lockkeeper::daemon {

// Whether the files of the settings can be used. Errors: INVALID_FIELD.
absl::Status CheckTraces(const config::TracesConfig& config);

// Thread-safety: thread-safe. Lifetime: borrows the logger's log and the metrics.
class Traces {
 public:
  // Null without an endpoint. Errors: those of CheckTraces().
  static absl::StatusOr<std::unique_ptr<Traces>> Open(const config::TracesConfig& config,
                                                      uint64_t daemon_id,
                                                      const telemetry::Logger& logger,
                                                      telemetry::Metrics& metrics);

  Traces(std::unique_ptr<tracing::SpanSender> sender, double sample_ratio,
         const telemetry::Logger& logger, telemetry::Metrics& metrics);

  tracing::Tracer& tracer() { return tracer_; }

 private:
  tracing::SpanExporter exporter_;
  tracing::Tracer tracer_;
};

}  // namespace lockkeeper::daemon
