// SPDX-License-Identifier: Apache-2.0
#include "daemon/traces.h"

#include <string>
#include <utility>

#include "config/traces_endpoint.h"
#include "core/types.h"
#include "lockkeeper/build_info.h"
#include "os/random_bits.h"
#include "telemetry/log_fields.h"
#include "tracing/otlp_sender.h"

namespace lockkeeper::daemon {
namespace {

absl::StatusOr<std::unique_ptr<tracing::SpanSender>> NewSender(const config::TracesConfig& config,
                                                               uint64_t daemon_id) {
  const auto endpoint = config::ParseTracesEndpoint(config.endpoint);
  if (!endpoint.ok()) return endpoint.status();
  return tracing::NewOtlpSender({.target = endpoint->target,
                                 .tls = endpoint->tls,
                                 .ca_file = config.ca_file,
                                 .version = std::string(GetBuildInfo().version),
                                 .daemon_id = core::Hex16(daemon_id)});
}

}  // namespace

absl::Status CheckTraces(const config::TracesConfig& config) {
  return config.endpoint.empty() ? absl::OkStatus() : NewSender(config, 0).status();
}

absl::StatusOr<std::unique_ptr<Traces>> Traces::Open(const config::TracesConfig& config,
                                                     uint64_t daemon_id,
                                                     const telemetry::Logger& logger,
                                                     telemetry::Metrics& metrics) {
  if (config.endpoint.empty()) return std::unique_ptr<Traces>();
  auto sender = NewSender(config, daemon_id);
  if (!sender.ok()) return sender.status();
  logger.Info("traces.started", "Calls are traced, and their spans exported",
              {telemetry::field::Address(config.endpoint)});
  return std::make_unique<Traces>(*std::move(sender), config.sample_ratio, logger, metrics);
}

Traces::Traces(std::unique_ptr<tracing::SpanSender> sender, double sample_ratio,
               const telemetry::Logger& logger, telemetry::Metrics& metrics)
    : exporter_(std::move(sender), {}, logger, metrics),
      tracer_({.sample_ratio = sample_ratio, .seeds = os::Random128Bits()}, exporter_) {}

}  // namespace lockkeeper::daemon
