// SPDX-License-Identifier: Apache-2.0
#include "daemon/node_telemetry.h"

#include <chrono>

#include "redis/scripts.h"
#include "telemetry/log_fields.h"

namespace lockkeeper::daemon {
namespace {

namespace field = telemetry::field;
using telemetry::CommandOutcome;
using telemetry::LogLevel;

// Each connection tries to reach a store that is away several times a second.
constexpr core::Millis kFailedInterval = std::chrono::seconds(10);

CommandOutcome OutcomeOf(redis::ScriptCallEnd end) {
  switch (end) {
    case redis::ScriptCallEnd::kAnswered:
      return CommandOutcome::kOk;
    case redis::ScriptCallEnd::kErrorReply:
      return CommandOutcome::kErrorReply;
    case redis::ScriptCallEnd::kNotSent:
    case redis::ScriptCallEnd::kUnanswered:
      return CommandOutcome::kNoReply;
  }
  return CommandOutcome::kNoReply;
}

// Since 1970.
core::Micros WallClock() {
  return std::chrono::duration_cast<core::Micros>(telemetry::SystemWallTime().time_since_epoch());
}

}  // namespace

NodeTelemetry::NodeTelemetry(telemetry::Logger logger, telemetry::Metrics& metrics,
                             telemetry::HealthBoard& health)
    : logger_(logger),
      reconnects_(metrics.redis_reconnects()),
      script_reloads_(metrics.script_reloads()),
      primaries_(metrics.redis_primaries()),
      parts_moved_(metrics.parts_moved()),
      confirmed_(metrics.Confirmations("confirmed")),
      not_confirmed_(metrics.Confirmations("not_confirmed")),
      metrics_(metrics),
      health_(health),
      failed_limit_(kFailedInterval) {
  for (const redis::ScriptSource& script : redis::AllScripts()) {
    scripts_.emplace(script.name, &metrics.ForScript(script.name));
  }
}

void NodeTelemetry::OnConnected(size_t connection, std::string_view server_version) {
  if (!connected_before_.insert(connection).second) reconnects_.Increment();
  logger_.WriteLimited(connected_limit_, LogLevel::kInfo, "redis.connected",
                       "A connection to Redis is ready",
                       {field::Connection(connection), field::ServerVersion(server_version)});
}

void NodeTelemetry::OnConnectionLost(size_t connection, const redis::StoreProblem& problem) {
  if (!telling_) return;
  logger_.WriteLimited(lost_limit_, LogLevel::kWarn, "redis.connection_lost",
                       "A connection to Redis broke; the daemon connects again",
                       {field::Connection(connection), field::Problem(problem.text)});
}

void NodeTelemetry::OnConnectFailed(size_t connection, const redis::StoreProblem& problem) {
  const bool is_refused = problem.kind == redis::StoreProblem::Kind::kRefused;
  if (!telling_ || (is_refused && !telling_refusals_)) return;
  logger_.WriteLimited(failed_limit_, LogLevel::kWarn, "redis.connect_failed",
                       "A connection attempt to Redis failed; the daemon retries",
                       {field::Connection(connection), field::Problem(problem.text)});
}

void NodeTelemetry::OnConfirmationEnded(bool confirmed, core::Micros elapsed) {
  (confirmed ? confirmed_ : not_confirmed_).Observe(elapsed);
}

// Daemons without Sentinels have no such metric.
void NodeTelemetry::OnHeard(size_t heard, size_t known) {
  metrics_.Sentinels("heard").Set(static_cast<double>(heard));
  metrics_.Sentinels("known").Set(static_cast<double>(known));
}

// Nor those without a Cluster these.
void NodeTelemetry::OnPrimaries(size_t connected, size_t known) {
  metrics_.ClusterPrimaries("connected").Set(static_cast<double>(connected));
  metrics_.ClusterPrimaries("known").Set(static_cast<double>(known));
}

void NodeTelemetry::OnPartsMoved(size_t parts) {
  parts_moved_.Add(static_cast<double>(parts));
  logger_.WriteLimited(moved_limit_, LogLevel::kInfo, "redis.parts_moved",
                       "Another server of the Cluster serves parts of the store: their slots were "
                       "moved, or a replica has taken the place of its primary",
                       {field::Parts(parts)});
}

void NodeTelemetry::OnScriptLoadedAgain(std::string_view script) {
  script_reloads_.Increment();
  logger_.WriteLimited(reload_limit_, LogLevel::kWarn, "redis.script_loaded_again",
                       "Redis had lost a script: it was restarted, or its scripts were flushed",
                       {field::Script(script)});
}

void NodeTelemetry::OnScriptCallEnded(std::string_view script, redis::ScriptCallEnd end,
                                      core::Micros elapsed) {
  const auto metrics = scripts_.find(script);
  if (metrics != scripts_.end()) metrics->second->Record(OutcomeOf(end), elapsed);
}

void NodeTelemetry::OnLooked(core::Micros elapsed, std::optional<core::NodeTime> clock) {
  telemetry::StoreLook look{.latency = elapsed};
  if (clock) {
    const core::Micros read_at = WallClock() - elapsed / 2;
    look.clock_ahead = core::Micros(clock->micros) - read_at;
  }
  health_.ReportLook(look);
}

void NodeTelemetry::OnPrimary(std::string_view address, int64_t config_epoch) {
  primaries_.Increment();
  logger_.Info("redis.primary", "The Sentinels name this server as the primary",
               {field::Server(address), field::ConfigEpoch(config_epoch)});
}

void NodeTelemetry::OnNoPrimary(const redis::StoreProblem& problem) {
  const bool is_refused = problem.kind == redis::StoreProblem::Kind::kRefused;
  if (is_refused && !telling_refusals_) return;
  logger_.WriteLimited(no_primary_limit_, LogLevel::kWarn, "redis.no_primary",
                       "Nobody knows which server is the primary; requests fail until a majority "
                       "of the Sentinels answers",
                       {field::Problem(problem.text)});
}

}  // namespace lockkeeper::daemon
