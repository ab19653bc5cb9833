// SPDX-License-Identifier: Apache-2.0
//
// The metrics. Handles are resolved at start-up; counting costs a few atomic additions. The values
// of a label are a bounded set: never the name of a lock, an owner or a peer. metric_catalog.h
// lists all metrics; docs/reference/metrics.md says what they mean and when to raise an alert.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "core/lock_observer.h"
#include "core/types.h"
#include "telemetry/outcome.h"

namespace prometheus {
class Counter;
class Gauge;
class Histogram;
}  // namespace prometheus

namespace lockkeeper::telemetry {

// The handles below are cheap to copy. Thread-safety: thread-safe. Lifetime: borrow from Metrics.
class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(&counter) {}
  void Increment() const;
  void Add(double change) const;  // Not negative.

 private:
  prometheus::Counter* counter_;
};

class Gauge {
 public:
  explicit Gauge(prometheus::Gauge& gauge) : gauge_(&gauge) {}
  void Set(double value) const;
  void Add(double change) const;
  double Value() const;

 private:
  prometheus::Gauge* gauge_;
};

class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(&histogram) {}
  void Observe(core::Micros time) const;
  void Observe(int64_t number) const;

 private:
  prometheus::Histogram* histogram_;
};

// Counts the requests of one rpc.
class RpcMetrics {
 public:
  virtual ~RpcMetrics() = default;
  virtual void Record(Outcome outcome, absl::StatusCode code, core::Micros elapsed) = 0;
};

enum class CommandOutcome {
  kOk,
  kErrorReply,  // The node refused.
  kNoReply,     // The connection was lost, or the deadline passed.
};

// Times the calls of one script.
class ScriptMetrics {
 public:
  virtual ~ScriptMetrics() = default;
  virtual void Record(CommandOutcome outcome, core::Micros elapsed) = 0;
};

// Thread-safety: thread-safe.
class Metrics {
 public:
  // `version` and `commit` become labels of lockkeeper_build_info.
  Metrics(std::string_view version, std::string_view commit);
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // The handles for one rpc ("Acquire") and one script ("acquire"). Call them once, at start-up:
  // they lock a mutex. The same name gives the same handle.
  RpcMetrics& ForRpc(std::string_view rpc);
  ScriptMetrics& ForScript(std::string_view script);
  // The counters for one kind of loss ("emptied") and one end of a reassertion ("taken_back").
  Counter StoreLosses(std::string_view loss);
  Counter Reassertions(std::string_view end);
  // The counter for one reason: "too_many", "flood", "no_tls" or "handshakes".
  Counter ConnectionsClosed(std::string_view reason);
  // The counter for one set of files ("server_tls") and one outcome: "used" or "refused".
  Counter FileReloads(std::string_view files, std::string_view outcome);
  // Whether changed files of one set cannot be used.
  Gauge FilesRefused(std::string_view files);
  // The counter for one quota ("leases").
  Counter QuotaRefusals(std::string_view quota);
  // The times of rounds with one outcome: "confirmed" or "not_confirmed".
  Histogram Confirmations(std::string_view outcome);
  // The number of Sentinels: "known" or "heard".
  Gauge Sentinels(std::string_view state);
  // The number of primaries of a Cluster: "known" or "connected"; and parts that have moved there.
  Gauge ClusterPrimaries(std::string_view state);
  Counter parts_moved();
  // The end of one certificate: "server" or "redis".
  Gauge CertificateExpiry(std::string_view certificate);

  Gauge store_up() const;
  Gauge draining() const;
  Gauge loop_stuck() const;
  Gauge settings_need_restart() const;
  Gauge store_granting() const;
  Gauge store_epoch() const;
  Gauge quarantine_end() const;
  Counter grants_refused() const;
  Counter redis_reconnects() const;
  Counter redis_primaries() const;
  Counter script_reloads() const;
  Gauge sessions() const;
  Gauge session_leases() const;
  Gauge waiters() const;
  Histogram event_loop_lag() const;
  Histogram waits(core::WaitEnd end) const;
  Counter slow_waits() const;
  Histogram line_positions() const;
  Histogram holds() const;
  Histogram session_heartbeats() const;
  Counter session_leases_lost() const;
  Counter withdrawals(core::WithdrawalEnd end) const;
  Counter expired_leases_replaced() const;
  Counter invariants_violated() const;
  Counter audit_dropped() const;
  Counter audit_write_failures() const;
  Counter traces_exported() const;
  Counter traces_dropped() const;

  // All metrics in Prometheus' text format, version 0.0.4.
  std::string Expose() const;

 private:
  struct Registered;
  const std::unique_ptr<Registered> registered_;
};

}  // namespace lockkeeper::telemetry
