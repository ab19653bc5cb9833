// SPDX-License-Identifier: Apache-2.0
#include "telemetry/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <map>
#include <mutex>

#include "telemetry/metric_catalog.h"
#include "telemetry/process_metrics.h"

namespace lockkeeper::telemetry {
namespace {

using prometheus::Family;
using Buckets = prometheus::Histogram::BucketBoundaries;

// From a unary call on loopback to the longest wait for a lock.
Buckets RpcBuckets() {
  return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
          0.25,   0.5,     1,      2.5,   5,      10,    30,   60,    300,  600};
}

// From one script call to the longest store.request_timeout.
Buckets StoreBuckets() {
  return {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
          0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10,   60};
}

// From a hand-over at once to the longest wait_timeout.
Buckets WaitBuckets() {
  return {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600};
}

// From a critical section of a moment to the longest ttl.
Buckets HoldBuckets() {
  return {0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 86400};
}

// As many waiters as a line may have.
Buckets PositionBuckets() { return {1, 2, 3, 5, 10, 20, 50, 100, 500, 1000, 5000, 10000, 20000}; }

// Beyond a second leases with a short ttl are in danger.
Buckets LagBuckets() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5};
}

double Seconds(core::Micros time) { return std::chrono::duration<double>(time).count(); }

template <typename Metric, typename Builder>
Family<Metric>& MakeFamily(Builder builder, const MetricInfo& info,
                           prometheus::Registry& registry) {
  return builder.Name(std::string(info.name)).Help(std::string(info.help)).Register(registry);
}

Family<prometheus::Counter>& Counters(const MetricInfo& info, prometheus::Registry& registry) {
  return MakeFamily<prometheus::Counter>(prometheus::BuildCounter(), info, registry);
}

Family<prometheus::Gauge>& Gauges(const MetricInfo& info, prometheus::Registry& registry) {
  return MakeFamily<prometheus::Gauge>(prometheus::BuildGauge(), info, registry);
}

Family<prometheus::Histogram>& Histograms(const MetricInfo& info, prometheus::Registry& registry) {
  return MakeFamily<prometheus::Histogram>(prometheus::BuildHistogram(), info, registry);
}

std::string_view NameOf(core::WithdrawalEnd end) {
  switch (end) {
    case core::WithdrawalEnd::kWithdrawn:
      return "withdrawn";
    case core::WithdrawalEnd::kNotGranted:
      return "not_granted";
    case core::WithdrawalEnd::kKept:
      return "kept";
    case core::WithdrawalEnd::kLeftToTtl:
      return "left_to_ttl";
  }
  return "unknown";
}

std::string_view NameOf(CommandOutcome outcome) {
  switch (outcome) {
    case CommandOutcome::kOk:
      return "ok";
    case CommandOutcome::kErrorReply:
      return "error_reply";
    case CommandOutcome::kNoReply:
      return "no_reply";
  }
  return "unknown";
}
constexpr size_t kCommandOutcomes = static_cast<size_t>(CommandOutcome::kNoReply) + 1;
constexpr size_t kWaitEnds = static_cast<size_t>(core::WaitEnd::kFailed) + 1;
constexpr size_t kWithdrawalEnds = static_cast<size_t>(core::WithdrawalEnd::kLeftToTtl) + 1;

// Creates a counter at its first count, because most pairs of outcome and code never occur. But
// those of errors that no retry mends, and of lost leases, are there from the start: the first one
// has to be seen as a rise.
class RegisteredRpcMetrics : public RpcMetrics {
 public:
  RegisteredRpcMetrics(std::string_view rpc, Family<prometheus::Counter>& total,
                       Family<prometheus::Histogram>& seconds)
      : rpc_(rpc), total_(total), seconds_(seconds.Add({{"rpc", rpc_}}, RpcBuckets())) {
    for (const auto code :
         {absl::StatusCode::kInternal, absl::StatusCode::kDataLoss, absl::StatusCode::kUnknown}) {
      CounterFor(Outcome::kError, code);
    }
    if (rpc_ == "Extend") CounterFor(Outcome::kLeaseLost, absl::StatusCode::kFailedPrecondition);
  }

  void Record(Outcome outcome, absl::StatusCode code, core::Micros elapsed) override {
    CounterFor(outcome, code).Increment();
    seconds_.Observe(Seconds(elapsed));
  }

 private:
  static constexpr size_t kCodes = static_cast<size_t>(absl::StatusCode::kUnauthenticated) + 1;

  prometheus::Counter& CounterFor(Outcome outcome, absl::StatusCode code) {
    size_t code_index = static_cast<size_t>(code);
    if (code_index >= kCodes) code_index = static_cast<size_t>(absl::StatusCode::kUnknown);
    auto& slot = counters_.at(static_cast<size_t>(outcome)).at(code_index);
    prometheus::Counter* counter = slot.load(std::memory_order_acquire);
    if (counter == nullptr) {
      // If two threads get here at the same time, both get the same counter.
      const auto known_code = static_cast<absl::StatusCode>(code_index);
      counter = &total_.Add({{"rpc", rpc_},
                             {"outcome", std::string(NameOf(outcome))},
                             {"code", absl::StatusCodeToString(known_code)}});
      slot.store(counter, std::memory_order_release);
    }
    return *counter;
  }

  const std::string rpc_;
  Family<prometheus::Counter>& total_;
  prometheus::Histogram& seconds_;
  std::array<std::array<std::atomic<prometheus::Counter*>, kCodes>, kOutcomes> counters_{};
};

class RegisteredScriptMetrics : public ScriptMetrics {
 public:
  RegisteredScriptMetrics(std::string_view script, Family<prometheus::Histogram>& seconds) {
    for (size_t i = 0; i < kCommandOutcomes; ++i) {
      histograms_[i] =
          &seconds.Add({{"script", std::string(script)},
                        {"outcome", std::string(NameOf(static_cast<CommandOutcome>(i)))}},
                       StoreBuckets());
    }
  }

  void Record(CommandOutcome outcome, core::Micros elapsed) override {
    histograms_.at(static_cast<size_t>(outcome))->Observe(Seconds(elapsed));
  }

 private:
  std::array<prometheus::Histogram*, kCommandOutcomes> histograms_{};
};

prometheus::MetricFamily ProcessFamily(const MetricInfo& info, double value) {
  prometheus::ClientMetric metric;
  const bool counts = info.kind == MetricKind::kCounter;
  if (counts) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return {.name = std::string(info.name),
          .help = std::string(info.help),
          .type = counts ? prometheus::MetricType::Counter : prometheus::MetricType::Gauge,
          .metric = {metric}};
}

}  // namespace

void Counter::Increment() const { counter_->Increment(); }
void Counter::Add(double change) const { counter_->Increment(change); }
void Gauge::Set(double value) const { gauge_->Set(value); }
void Gauge::Add(double change) const { gauge_->Increment(change); }
double Gauge::Value() const { return gauge_->Value(); }
void Histogram::Observe(core::Micros time) const { histogram_->Observe(Seconds(time)); }
void Histogram::Observe(int64_t number) const { histogram_->Observe(static_cast<double>(number)); }

// Declared in the order of construction: everything borrows from the registry.
struct Metrics::Registered {
  prometheus::Registry registry;

  Family<prometheus::Counter>& rpc_total = Counters(catalog::kRpcTotal, registry);
  Family<prometheus::Histogram>& rpc_seconds = Histograms(catalog::kRpcSeconds, registry);
  Family<prometheus::Histogram>& command_seconds =
      Histograms(catalog::kRedisCommandSeconds, registry);
  Family<prometheus::Histogram>& wait_seconds = Histograms(catalog::kWaitSeconds, registry);
  Family<prometheus::Counter>& withdrawal_total = Counters(catalog::kWithdrawalTotal, registry);
  Family<prometheus::Counter>& store_loss_total = Counters(catalog::kStoreLossTotal, registry);
  Family<prometheus::Counter>& reassertion_total = Counters(catalog::kReassertionTotal, registry);
  Family<prometheus::Counter>& connections_closed =
      Counters(catalog::kConnectionsClosedTotal, registry);
  Family<prometheus::Counter>& file_reloads = Counters(catalog::kFileReloadTotal, registry);
  Family<prometheus::Gauge>& files_refused = Gauges(catalog::kFilesRefused, registry);
  Family<prometheus::Gauge>& certificate_expiry = Gauges(catalog::kCertificateExpiry, registry);
  Family<prometheus::Counter>& quota_refused = Counters(catalog::kQuotaRefusedTotal, registry);
  Family<prometheus::Histogram>& confirmations =
      Histograms(catalog::kRedisConfirmationSeconds, registry);
  Family<prometheus::Gauge>& sentinels = Gauges(catalog::kRedisSentinels, registry);
  Family<prometheus::Gauge>& cluster_primaries = Gauges(catalog::kRedisClusterPrimaries, registry);
  Family<prometheus::Counter>& parts_moved = Counters(catalog::kRedisPartsMovedTotal, registry);
  Family<prometheus::Gauge>& build_info = Gauges(catalog::kBuildInfo, registry);

  prometheus::Gauge& store_up = Gauges(catalog::kStoreUp, registry).Add({});
  prometheus::Gauge& granting = Gauges(catalog::kStoreGranting, registry).Add({});
  prometheus::Gauge& epoch = Gauges(catalog::kStoreEpoch, registry).Add({});
  prometheus::Gauge& quarantine_end = Gauges(catalog::kQuarantineEnd, registry).Add({});
  prometheus::Counter& grants_refused = Counters(catalog::kGrantRefusedTotal, registry).Add({});
  prometheus::Gauge& draining = Gauges(catalog::kDraining, registry).Add({});
  prometheus::Gauge& settings_need_restart =
      Gauges(catalog::kSettingsNeedRestart, registry).Add({});
  prometheus::Gauge& loop_stuck = Gauges(catalog::kEventLoopStuck, registry).Add({});
  prometheus::Gauge& sessions = Gauges(catalog::kSessions, registry).Add({});
  prometheus::Gauge& session_leases = Gauges(catalog::kSessionLeases, registry).Add({});
  prometheus::Gauge& waiters = Gauges(catalog::kWaiters, registry).Add({});
  prometheus::Histogram& loop_lag =
      Histograms(catalog::kEventLoopLagSeconds, registry).Add({}, LagBuckets());
  prometheus::Counter& slow_waits = Counters(catalog::kSlowWaitTotal, registry).Add({});
  prometheus::Histogram& line_positions =
      Histograms(catalog::kLinePosition, registry).Add({}, PositionBuckets());
  prometheus::Histogram& holds = Histograms(catalog::kHoldSeconds, registry).Add({}, HoldBuckets());
  prometheus::Histogram& session_heartbeats =
      Histograms(catalog::kSessionHeartbeatSeconds, registry).Add({}, StoreBuckets());
  prometheus::Counter& session_leases_lost =
      Counters(catalog::kSessionLeaseLostTotal, registry).Add({});
  prometheus::Counter& reconnects = Counters(catalog::kRedisReconnectTotal, registry).Add({});
  prometheus::Counter& primaries = Counters(catalog::kRedisPrimaryTotal, registry).Add({});
  prometheus::Counter& reloads = Counters(catalog::kRedisScriptReloadTotal, registry).Add({});
  prometheus::Counter& leases_expired = Counters(catalog::kLeaseExpiredTotal, registry).Add({});
  prometheus::Counter& invariants = Counters(catalog::kInvariantViolatedTotal, registry).Add({});
  prometheus::Counter& audit_dropped = Counters(catalog::kAuditDroppedTotal, registry).Add({});
  prometheus::Counter& audit_write_failures =
      Counters(catalog::kAuditWriteFailedTotal, registry).Add({});
  prometheus::Counter& traces_exported = Counters(catalog::kTracesExportedTotal, registry).Add({});
  prometheus::Counter& traces_dropped = Counters(catalog::kTracesDroppedTotal, registry).Add({});
  std::array<prometheus::Histogram*, kWaitEnds> waits{};
  std::array<prometheus::Counter*, kWithdrawalEnds> withdrawals{};

  std::mutex mutex;  // Guards the next two.
  std::map<std::string, std::unique_ptr<RpcMetrics>, std::less<>> rpcs;
  std::map<std::string, std::unique_ptr<ScriptMetrics>, std::less<>> scripts ABSL_GUARDED_BY(mutex);
};

Metrics::Metrics(std::string_view version, std::string_view commit)
    : registered_(std::make_unique<Registered>()) {
  registered_->build_info.Add({{"version", std::string(version)}, {"commit", std::string(commit)}})
      .Set(1);
  for (size_t i = 0; i < kWaitEnds; ++i) {
    const std::string end(NameOf(static_cast<core::WaitEnd>(i)));
    registered_->waits[i] = &registered_->wait_seconds.Add({{"end", end}}, WaitBuckets());
  }
  for (size_t i = 0; i < kWithdrawalEnds; ++i) {
    const std::string end(NameOf(static_cast<core::WithdrawalEnd>(i)));
    registered_->withdrawals[i] = &registered_->withdrawal_total.Add({{"end", end}});
  }
}

Metrics::~Metrics() = default;

RpcMetrics& Metrics::ForRpc(std::string_view rpc) {
  const std::lock_guard lock(registered_->mutex);
  auto& metrics = registered_->rpcs[std::string(rpc)];
  if (metrics == nullptr) {
    metrics = std::make_unique<RegisteredRpcMetrics>(rpc, registered_->rpc_total,
                                                     registered_->rpc_seconds);
  }
  return *metrics;
}

ScriptMetrics& Metrics::ForScript(std::string_view script) {
  const std::lock_guard lock(registered_->mutex);
  auto& metrics = registered_->scripts[std::string(script)];
  if (metrics == nullptr) {
    metrics = std::make_unique<RegisteredScriptMetrics>(script, registered_->command_seconds);
  }
  return *metrics;
}

Counter Metrics::StoreLosses(std::string_view loss) {
  return Counter(registered_->store_loss_total.Add({{"loss", std::string(loss)}}));
}

Counter Metrics::ConnectionsClosed(std::string_view reason) {
  return Counter(registered_->connections_closed.Add({{"reason", std::string(reason)}}));
}

Counter Metrics::FileReloads(std::string_view files, std::string_view outcome) {
  return Counter(registered_->file_reloads.Add(
      {{"files", std::string(files)}, {"outcome", std::string(outcome)}}));
}

Gauge Metrics::FilesRefused(std::string_view files) {
  return Gauge(registered_->files_refused.Add({{"files", std::string(files)}}));
}

Gauge Metrics::settings_need_restart() const { return Gauge(registered_->settings_need_restart); }

Counter Metrics::QuotaRefusals(std::string_view quota) {
  return Counter(registered_->quota_refused.Add({{"quota", std::string(quota)}}));
}

Histogram Metrics::Confirmations(std::string_view outcome) {
  return Histogram(
      registered_->confirmations.Add({{"outcome", std::string(outcome)}}, StoreBuckets()));
}

Gauge Metrics::Sentinels(std::string_view state) {
  return Gauge(registered_->sentinels.Add({{"state", std::string(state)}}));
}

Gauge Metrics::ClusterPrimaries(std::string_view state) {
  return Gauge(registered_->cluster_primaries.Add({{"state", std::string(state)}}));
}

Counter Metrics::parts_moved() { return Counter(registered_->parts_moved.Add({})); }

Gauge Metrics::CertificateExpiry(std::string_view certificate) {
  return Gauge(registered_->certificate_expiry.Add({{"certificate", std::string(certificate)}}));
}

Counter Metrics::Reassertions(std::string_view end) {
  return Counter(registered_->reassertion_total.Add({{"end", std::string(end)}}));
}

Gauge Metrics::store_up() const { return Gauge(registered_->store_up); }
Gauge Metrics::draining() const { return Gauge(registered_->draining); }
Gauge Metrics::loop_stuck() const { return Gauge(registered_->loop_stuck); }
Gauge Metrics::store_granting() const { return Gauge(registered_->granting); }
Gauge Metrics::store_epoch() const { return Gauge(registered_->epoch); }
Gauge Metrics::quarantine_end() const { return Gauge(registered_->quarantine_end); }
Counter Metrics::grants_refused() const { return Counter(registered_->grants_refused); }
Counter Metrics::redis_reconnects() const { return Counter(registered_->reconnects); }
Counter Metrics::redis_primaries() const { return Counter(registered_->primaries); }
Counter Metrics::script_reloads() const { return Counter(registered_->reloads); }
Gauge Metrics::sessions() const { return Gauge(registered_->sessions); }
Gauge Metrics::session_leases() const { return Gauge(registered_->session_leases); }
Gauge Metrics::waiters() const { return Gauge(registered_->waiters); }
Histogram Metrics::event_loop_lag() const { return Histogram(registered_->loop_lag); }
Histogram Metrics::waits(core::WaitEnd end) const {
  return Histogram(*registered_->waits.at(static_cast<size_t>(end)));
}
Counter Metrics::slow_waits() const { return Counter(registered_->slow_waits); }
Histogram Metrics::line_positions() const { return Histogram(registered_->line_positions); }
Histogram Metrics::holds() const { return Histogram(registered_->holds); }
Histogram Metrics::session_heartbeats() const { return Histogram(registered_->session_heartbeats); }
Counter Metrics::session_leases_lost() const { return Counter(registered_->session_leases_lost); }
Counter Metrics::withdrawals(core::WithdrawalEnd end) const {
  return Counter(*registered_->withdrawals.at(static_cast<size_t>(end)));
}
Counter Metrics::expired_leases_replaced() const { return Counter(registered_->leases_expired); }
Counter Metrics::invariants_violated() const { return Counter(registered_->invariants); }

Counter Metrics::audit_dropped() const { return Counter(registered_->audit_dropped); }
Counter Metrics::audit_write_failures() const { return Counter(registered_->audit_write_failures); }
Counter Metrics::traces_exported() const { return Counter(registered_->traces_exported); }
Counter Metrics::traces_dropped() const { return Counter(registered_->traces_dropped); }

std::string Metrics::Expose() const {
  std::vector<prometheus::MetricFamily> families = registered_->registry.Collect();
  for (const auto& [info, value] : ReadProcessMetrics()) {
    families.push_back(ProcessFamily(info, value));
  }
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace lockkeeper::telemetry
