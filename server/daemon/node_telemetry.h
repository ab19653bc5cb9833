// SPDX-License-Identifier: Apache-2.0
//
// Turns the events of a Redis node's connections and scripts, and what Sentinels or a Cluster say
// of it, into log records, metrics and health.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>

#include "redis/cluster/cluster.h"
#include "redis/sentinel/sentinel_watch.h"
#include "telemetry/health_board.h"
#include "telemetry/log.h"
#include "telemetry/metrics.h"

namespace lockkeeper::daemon {

// Thread-safety: loop-thread only. Lifetime: borrows the metrics, the health and the log.
class NodeTelemetry final : public redis::ClusterObserver, public redis::SentinelObserver {
 public:
  NodeTelemetry(telemetry::Logger logger, telemetry::Metrics& metrics,
                telemetry::HealthBoard& health);

  // The start reports refusals by itself. From now on this object reports them.
  void StartTellingRefusals() { telling_refusals_ = true; }

  // Stops reporting, because from now on the daemon closes its connections itself.
  void StopTelling() { telling_ = false; }

  void OnConnected(size_t connection, std::string_view server_version) override;
  void OnConnectionLost(size_t connection, const redis::StoreProblem& problem) override;
  void OnConnectFailed(size_t connection, const redis::StoreProblem& problem) override;
  void OnConfirmationEnded(bool confirmed, core::Micros elapsed) override;
  void OnScriptLoadedAgain(std::string_view script) override;
  void OnLooked(core::Micros elapsed, std::optional<core::NodeTime> clock) override;
  void OnScriptCallEnded(std::string_view script, redis::ScriptCallEnd end,
                         core::Micros elapsed) override;
  void OnPrimary(std::string_view address, int64_t config_epoch) override;
  void OnHeard(size_t heard, size_t known) override;
  void OnNoPrimary(const redis::StoreProblem& problem) override;
  void OnPrimaries(size_t connected, size_t known) override;
  void OnPartsMoved(size_t parts) override;

 private:
  bool telling_ = true;
  bool telling_refusals_ = false;
  const telemetry::Logger logger_;
  const telemetry::Counter reconnects_;
  const telemetry::Counter script_reloads_;
  const telemetry::Counter primaries_;
  const telemetry::Counter parts_moved_;
  const telemetry::Histogram confirmed_;
  const telemetry::Histogram not_confirmed_;
  telemetry::Metrics& metrics_;
  telemetry::HealthBoard& health_;
  std::unordered_map<std::string_view, telemetry::ScriptMetrics*> scripts_;
  std::set<size_t> connected_before_;
  telemetry::LogLimit connected_limit_;
  telemetry::LogLimit lost_limit_;
  telemetry::LogLimit failed_limit_;
  telemetry::LogLimit reload_limit_;
  telemetry::LogLimit no_primary_limit_;
  telemetry::LogLimit moved_limit_;
};

}  // namespace lockkeeper::daemon
