// SPDX-License-Identifier: Apache-2.0
#include "daemon/daemon.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <utility>

#include "absl/strings/str_join.h"
#include "access/access_control.h"
#include "audit/lock_observer.h"
#include "audit/sink.h"
#include "audit/trail.h"
#include "config/listen_address.h"
#include "config/settings.h"
#include "config/store_assurance.h"
#include "core/errors.h"
#include "daemon/access_rules.h"
#include "daemon/config_reload.h"
#include "daemon/file_reloads.h"
#include "daemon/live_settings.h"
#include "daemon/lock_loop.h"
#include "daemon/server_identity.h"
#include "daemon/store_access.h"
#include "daemon/traces.h"
#include "embedded/embedded_store.h"
#include "http/endpoints.h"
#include "http/http_server.h"
#include "lockkeeper/build_info.h"
#include "os/boot_clock.h"
#include "os/random_bits.h"
#include "redis/client/redis_url.h"
#include "redis/scripts.h"
#include "rpc/server.h"
#include "telemetry/lock_observer.h"
#include "telemetry/log_fields.h"
#include "telemetry/metrics.h"

namespace lockkeeper {
namespace {

namespace field = telemetry::field;
using core::Millis;

// On top of connect_timeout, so that the first attempt can fail by itself.
constexpr Millis kFirstContactMargin{500};

redis::Assumptions AssumptionsOf(const config::StoreConfig& store) {
  const auto has = [&](std::string_view word) {
    return std::find(store.assume.begin(), store.assume.end(), word) != store.assume.end();
  };
  return {.no_eviction = has("no_eviction"),
          .durable = has("durable"),
          .no_split_brain = has("no_split_brain")};
}

// The settings with which a lock may have two holders, one sentence each.
std::vector<std::string> GivenUp(const config::StoreConfig& store) {
  std::vector<std::string> given_up;
  const redis::Assumptions assumed = AssumptionsOf(store);
  if (assumed.no_eviction) {
    given_up.emplace_back(
        "store.assume has no_eviction: an eviction policy of Redis is accepted; if Redis evicts a "
        "lock, that is free");
  }
  if (assumed.durable) {
    given_up.emplace_back(
        "store.assume has durable: a restart or failover of Redis is assumed to lose nothing; if "
        "it "
        "loses a lock, that is free");
  }
  if (assumed.no_split_brain) {
    given_up.emplace_back(
        "store.assume has no_split_brain: a primary that Sentinels have replaced is assumed to "
        "take no more writes; if it grants a lock, that has two holders");
  }
  if (store.quarantine == config::Quarantine::kOff) {
    given_up.emplace_back(
        "store.quarantine is off: a loss of Redis is logged, and the locks that it lost are free "
        "at once");
  }
  if (!store.embedded && store.first_use == config::FirstUse::kGrant &&
      store.first_use_wait == Millis(0)) {
    given_up.emplace_back(
        "store.first_use_wait is 0s: an empty Redis counts as new at once; if it was emptied a "
        "moment ago, the locks that it lost are free");
  }
  return given_up;
}

// The settings that GetServerInfo shows: they decide what the store promises, and which locks the
// daemon shares with others.
constexpr auto kShownSettings = std::to_array<std::string_view>(
    {"store.assurance", "store.assume", "store.quarantine", "store.first_use",
     "store.first_use_wait", "store.key_prefix", "store.request_timeout"});

std::vector<std::pair<std::string, std::string>> ShownSettings(const config::Config& config) {
  std::vector<std::pair<std::string, std::string>> shown;
  shown.reserve(kShownSettings.size());
  for (const std::string_view key : kShownSettings) {
    shown.emplace_back(key,
                       absl::StrJoin(config::Show(*config::FindByKey(key), config).texts, ","));
  }
  return shown;
}

core::WallTime WallClock() {
  const auto since_epoch = telemetry::SystemWallTime().time_since_epoch();
  return {std::chrono::duration_cast<core::Micros>(since_epoch).count()};
}

void LogEmbeddedEvent(const telemetry::Logger& logger, const embedded::EmbeddedEvent& event) {
  switch (event.kind) {
    case embedded::EmbeddedEvent::Kind::kWaiting:
      logger.Warn("embedded.waiting", "The data directory is in use; the start waits for it",
                  {field::Detail(event.text)});
      break;
    case embedded::EmbeddedEvent::Kind::kStarted:
      logger.Info("embedded.started", "The embedded store's server runs",
                  {field::Detail(event.text)});
      break;
    case embedded::EmbeddedEvent::Kind::kEnded:
      logger.Warn("embedded.ended",
                  "The embedded store's server ended unexpectedly; it is restarted",
                  {field::Problem(event.text)});
      break;
    case embedded::EmbeddedEvent::Kind::kStartFailed:
      logger.Warn("embedded.start_failed",
                  "The embedded store's server could not be restarted; the daemon retries",
                  {field::Problem(event.text)});
      break;
  }
}

// Not a pipe, which could be read only once.
bool CanReadAgain(const std::string& config_file) {
  std::error_code error;
  return !config_file.empty() && std::filesystem::is_regular_file(config_file, error);
}

}  // namespace

struct Daemon::Parts final : rpc::DaemonView {
  Parts(const config::ConfigSources& given_sources, const config::LoadedConfig& given,
        telemetry::Log& log_output, std::function<void()> ask_to_stop)
      : sources(given_sources),
        at_start(given),
        config(at_start.config),
        log(log_output),
        on_asked_to_stop(std::move(ask_to_stop)),
        metrics(GetBuildInfo().version, GetBuildInfo().git_commit),
        health({log, "telemetry"}, metrics) {}

  std::vector<rpc::CertificateEnd> Certificates() const override;
  std::vector<rpc::RefusedFiles> Refused() const override;

  // Nothing is taken into use any more that needs the loop.
  ~Parts() override {
    if (reloads) reloads->Stop();
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  absl::Status OpenAudit();
  absl::Status OpenTraces();
  tracing::Tracer* tracer() const { return traces ? &traces->tracer() : nullptr; }
  absl::Status LoadIdentity();
  absl::Status LoadAccess();
  absl::StatusOr<daemon::StoreAccess> FindStore();
  absl::StatusOr<daemon::StoreAccess> StartEmbedded();
  void WatchStoreCredentials(const daemon::StoreAccess& access);
  redis::RedisNodeOptions NodeOptions(const daemon::StoreAccess& access,
                                      const std::optional<redis::SentinelOptions>& sentinels) const;
  std::optional<redis::SentinelOptions> SentinelOptionsFor(const daemon::StoreAccess& access) const;
  redis::JudgePolicy LossPolicy() const;
  redis::RedisStoreOptions StoreOptions() const;
  void TellGivenUp();
  absl::Status StartLocks();
  void WaitForFirstLook();
  absl::Status StartHttp();
  absl::Status StartRpc();
  void WatchConfig();
  std::function<rpc::ConfigFileState()> ConfigFileTeller() const;
  loop::EventLoop& loop() { return locks->loop(); }

  const config::ConfigSources sources;
  const config::LoadedConfig at_start;
  const config::Config& config;  // That of the start; see `live`.
  telemetry::Log& log;
  const std::function<void()> on_asked_to_stop;
  const telemetry::Logger logger{log, "daemon"};
  const uint64_t daemon_id = os::RandomBits();
  const core::WallTime started = WallClock();
  const core::Instant started_at{os::BootTime()};

  telemetry::Metrics metrics;
  telemetry::HealthBoard health;
  daemon::LiveSettings live{config, log};
  std::unique_ptr<audit::Trail> trail;     // Null without one.
  std::unique_ptr<daemon::Traces> traces;  // The same.
  std::unique_ptr<telemetry::TelemetryLockObserver> lock_observer;
  redis::StoreUrl store_url;
  std::shared_ptr<tls::ServerIdentity> identity;       // Null without TLS.
  std::shared_ptr<const redis::TlsContext> store_tls;  // The same.
  std::optional<access::AccessControl> access_control;
  std::optional<daemon::ConfigReload> config_reload;  // Nothing without a file.
  std::optional<daemon::FileReloads> reloads;

  // Destroyed from the last to the first, because the calls of rpc need the locks, and the locks
  // need the store.
  std::unique_ptr<embedded::EmbeddedStore> embedded_store;
  std::unique_ptr<daemon::LockLoop> locks;
  std::unique_ptr<http::HttpServer> http_server;
  std::unique_ptr<rpc::Server> rpc_server;
};

std::vector<rpc::CertificateEnd> Daemon::Parts::Certificates() const {
  std::vector<rpc::CertificateEnd> ends;
  if (identity) ends.push_back({"server", identity->valid_until()});
  if (const auto end = store_tls ? store_tls->valid_until() : std::nullopt) {
    ends.push_back({"redis", *end});
  }
  return ends;
}

std::vector<rpc::RefusedFiles> Daemon::Parts::Refused() const {
  std::vector<rpc::RefusedFiles> refused;
  for (const auto& [files, problem] : reloads->Refused()) refused.push_back({files, problem});
  return refused;
}

absl::Status Daemon::Parts::OpenAudit() {
  const telemetry::Logger core_logger{log, "core"};
  if (config.audit.to.empty()) {
    lock_observer = std::make_unique<telemetry::TelemetryLockObserver>(core_logger, metrics,
                                                                       config.waiters.slow_wait);
  } else {
    auto sink = audit::OpenSink(config.audit.to);
    if (!sink.ok()) return sink.status();
    trail = std::make_unique<audit::Trail>(
        *std::move(sink),
        audit::TrailOptions{.required = config.audit.required,
                            .queue_max = static_cast<size_t>(config.audit.queue_max)},
        telemetry::Logger{log, "audit"}, metrics,
        [this](const std::string& problem) { health.ReportAudit(problem); });
    lock_observer = std::make_unique<audit::AuditedLockObserver>(core_logger, metrics,
                                                                 config.waiters.slow_wait, *trail);
  }
  reloads.emplace(metrics, logger, trail.get());
  return absl::OkStatus();
}

absl::Status Daemon::Parts::OpenTraces() {
  auto opened = daemon::Traces::Open(config.traces, daemon_id, {log, "tracing"}, metrics);
  if (!opened.ok()) return opened.status();
  traces = *std::move(opened);
  return absl::OkStatus();
}

absl::Status Daemon::Parts::LoadIdentity() {
  auto loaded = daemon::LoadServerIdentity(config.server);
  if (!loaded.ok()) return loaded.status();
  identity = *std::move(loaded);
  if (identity == nullptr) return absl::OkStatus();
  const telemetry::Gauge expiry = metrics.CertificateExpiry("server");
  reloads->AddCredentials("server_tls", identity, [this, expiry] {
    expiry.Set(static_cast<double>(identity->valid_until()));
    logger.Info("tls.identity", "The daemon shows this certificate to its clients",
                {field::Detail(identity->Describe())});
  });
  return absl::OkStatus();
}

absl::Status Daemon::Parts::LoadAccess() {
  const absl::StatusOr<daemon::AccessRules> rules = daemon::AccessRules::Load(config);
  if (!rules.ok()) return rules.status();
  access_control.emplace(rules->rulebook(), daemon::WallTimeNow);
  daemon::LogWarnings(logger, rules->warnings());
  if (rules->has_files()) {
    reloads->Add("access", rules->Reader(), rules->contents(),
                 rules->Taker(*access_control, logger));
  }
  return absl::OkStatus();
}

absl::StatusOr<daemon::StoreAccess> Daemon::Parts::FindStore() {
  return config.store.embedded ? StartEmbedded() : daemon::LoadStoreAccess(config.store);
}

absl::StatusOr<daemon::StoreAccess> Daemon::Parts::StartEmbedded() {
  auto store = embedded::EmbeddedStore::Start(
      {.data_directory = config.store.data_dir, .program = config.store.embedded_program},
      [logger = telemetry::Logger(log, "embedded")](const embedded::EmbeddedEvent& event) {
        LogEmbeddedEvent(logger, event);
      });
  if (!store.ok()) return store.status();
  embedded_store = std::move(*store);
  logger.Info("embedded.private",
              "Only this daemon knows the locks of its embedded store; several daemons need a "
              "Redis that they share",
              {field::Path(config.store.data_dir)});
  absl::StatusOr<redis::StoreUrl> url = redis::ParseStoreUrl(embedded_store->url());
  if (!url.ok()) return url.status();
  return daemon::StoreAccess{.url = *std::move(url)};
}

void Daemon::Parts::WatchStoreCredentials(const daemon::StoreAccess& access) {
  for (const auto& [what, file] : {std::pair("redis_password", access.password),
                                   std::pair("sentinel_password", access.sentinel_password)}) {
    if (file) reloads->AddCredentials(what, file, [] {});
  }
  if (access.tls) {
    reloads->AddCredentials("redis_tls", access.tls, [this, context = access.tls] {
      const auto end = context->valid_until();
      if (end) metrics.CertificateExpiry("redis").Set(static_cast<double>(*end));
    });
  }
  // Our certificate is the same one.
  if (access.sentinel_tls) reloads->AddCredentials("sentinel_tls", access.sentinel_tls, [] {});
}

redis::JudgePolicy Daemon::Parts::LossPolicy() const {
  redis::JudgePolicy policy{
      .first_use = config.store.first_use == config::FirstUse::kGrant
                       ? redis::FirstUse::kGrant
                       : redis::FirstUse::kQuarantine,
      .quarantine = config.store.quarantine == config::Quarantine::kOff
                        ? redis::QuarantineMode::kOff
                        : redis::QuarantineMode::kOn,
      .ceiling_max = daemon::LoopSettingsOf(config).longest_lease,
      .assume_durable = AssumptionsOf(config.store).durable,
      .new_service_id = core::Hex16(os::RandomBits()),
      .new_reassertion_key = core::Hex16(os::RandomBits()) + core::Hex16(os::RandomBits())};
  if (embedded_store) {
    policy.home = embedded_store->home().id;
    policy.home_changed = embedded_store->home().changed;
  }
  return policy;
}

redis::RedisStoreOptions Daemon::Parts::StoreOptions() const {
  return {.daemon_id = core::Hex16(daemon_id),
          .keys = redis::KeyLayout(config.store.key_prefix),
          .record_retention = config.store.record_retention,
          .request_timeout = config.store.request_timeout,
          .call_lifetime = config.store.request_timeout,
          .waiters_per_lock_max = daemon::LoopSettingsOf(config).waiters_per_lock_max,
          // No other daemon knows the embedded store.
          .first_use_wait = embedded_store ? core::Millis(0) : config.store.first_use_wait,
          .restores = config.store.quarantine == config::Quarantine::kUntilRestored,
          .policy = LossPolicy()};
}

// So that somebody who searches the log because a lock was held twice finds it.
void Daemon::Parts::TellGivenUp() {
  std::vector<std::string> given_up = GivenUp(config.store);
  for (const std::string& what : given_up) {
    logger.Warn("daemon.promise_given_up",
                "A setting disables a safety guarantee: a lock may have two holders",
                {field::Detail(what)});
  }
  health.ReportGivenUp(std::move(given_up));
}

redis::RedisNodeOptions Daemon::Parts::NodeOptions(
    const daemon::StoreAccess& access,
    const std::optional<redis::SentinelOptions>& sentinels) const {
  const config::StoreAssurance assurance = *config::ParseStoreAssurance(config.store.assurance);
  redis::RedisNodeOptions options{.url = access.url.server,
                                  .tls = access.tls,
                                  .daemon_id = core::Hex16(daemon_id),
                                  .key_prefix = config.store.key_prefix,
                                  .scripts = redis::AllScripts(),
                                  .connections = static_cast<size_t>(config.store.connections),
                                  .connect_timeout = config.store.connect_timeout,
                                  .request_timeout = config.store.request_timeout,
                                  .min_assurance = assurance.least,
                                  .replicas = assurance.replicas,
                                  .assumed = AssumptionsOf(config.store),
                                  .seed = os::RandomBits()};
  if (sentinels) {
    options.expected = redis::Expected::kPrimary;
    options.isolation_min = sentinels->times.Isolation();
  }
  return options;
}

std::optional<redis::SentinelOptions> Daemon::Parts::SentinelOptionsFor(
    const daemon::StoreAccess& access) const {
  if (!access.url.has_sentinels()) return std::nullopt;
  return redis::SentinelOptions{.sentinels = access.url.sentinels,
                                .tls = access.sentinel_tls,
                                .service = access.url.service,
                                .primary = access.url.server,
                                .majority = AssumptionsOf(config.store).no_split_brain
                                                ? redis::Majority::kNotNeeded
                                                : redis::Majority::kNeeded,
                                .client_name = "lockkeeperd:" + core::Hex16(daemon_id),
                                .connect_timeout = config.store.connect_timeout,
                                .request_timeout = config.store.request_timeout,
                                .seed = os::RandomBits()};
}

absl::Status Daemon::Parts::StartLocks() {
  const absl::StatusOr<daemon::StoreAccess> access = FindStore();
  if (!access.ok()) return access.status();
  store_url = access->url;
  store_tls = access->tls;
  WatchStoreCredentials(*access);
  TellGivenUp();
  const std::optional<redis::SentinelOptions> sentinels = SentinelOptionsFor(*access);
  const daemon::LockLoopOptions options{
      .node = NodeOptions(*access, sentinels),
      .sentinels = sentinels,
      .cluster = access->url.cluster,
      .store = StoreOptions(),
      .locks = {.request_timeout = config.store.request_timeout,
                .call_lifetime = config.store.request_timeout,
                .min_assurance = config::ParseStoreAssurance(config.store.assurance)->least,
                .waiters_per_principal_max =
                    daemon::LoopSettingsOf(config).waiters_per_principal_max},
  };
  locks = std::make_unique<daemon::LockLoop>(
      options, daemon::LockLoopDeps{*lock_observer, health, metrics, log, tracer()});
  // The Sentinels, or those that tell of the Cluster, are connected to first.
  const int attempts = sentinels || access->url.is_cluster() ? 2 : 1;
  const auto contact =
      locks->WaitForFirstContact(config.store.connect_timeout * attempts + kFirstContactMargin);
  if (contact && contact->refused) {
    return core::Error(core::ErrorReason::kStoreUnavailable, contact->problem);
  }
  WaitForFirstLook();
  return absl::OkStatus();
}

// The guard checks a reachable store within milliseconds. The start waits for that, so that a
// daemon that says it is ready is ready.
void Daemon::Parts::WaitForFirstLook() {
  std::promise<void> looked;
  bool told = false;
  const auto subscription = health.Subscribe([&](const telemetry::Health& now) {
    if (now.store.reachable && !now.store.looked) return;
    if (!std::exchange(told, true)) looked.set_value();
  });
  looked.get_future().wait_for(kFirstContactMargin);
}

absl::Status Daemon::Parts::StartHttp() {
  if (config.server.http_listen.empty()) return absl::OkStatus();
  const auto listen = config::ParseListenAddress(config.server.http_listen);
  if (!listen.ok()) return listen.status();
  auto server = http::HttpServer::Start({.listen = *listen, .identity = identity},
                                        http::OperatingPages(health, metrics, loop()), loop(),
                                        telemetry::Logger(log, "http"));
  if (!server.ok()) return server.status();
  http_server = std::move(*server);
  return absl::OkStatus();
}

absl::Status Daemon::Parts::StartRpc() {
  std::vector<config::ListenAddress> listen;
  for (const std::string& text : config.server.listen) {
    auto address = config::ParseListenAddress(text);
    if (!address.ok()) return address.status();
    listen.push_back(*std::move(address));
  }
  auto server = rpc::Server::Start(
      listen,
      {.loop = loop(),
       .locks = locks->locks(),
       .admin = locks->admin(),
       .watches = locks->watches(),
       .contended = locks->contended(),
       .clock = loop(),
       .access = *access_control,
       .limits = live.limits(),
       .health = health,
       .metrics = metrics,
       .logger = {log, "rpc"},
       .facts = {.version = std::string(GetBuildInfo().version),
                 .daemon_id = daemon_id,
                 .started = started,
                 .store_kind = config.store.embedded ? "embedded" : "redis",
                 .store_address = store_url.Address(),
                 .record_retention = config.store.record_retention,
                 .started_at = started_at,
                 .http_address = http_server ? http_server->address().ToString() : "",
                 .store_settings = ShownSettings(config)},
       .config_file = ConfigFileTeller(),
       .daemon = *this,
       .ask_to_stop = on_asked_to_stop,
       .audit = trail.get(),
       .tracer = tracer(),
       .reflection = daemon::HasReflection(config),
       .drain_timeout = config.drain.timeout,
       .max_connection_age = config.server.max_connection_age},
      {.connections_max = static_cast<size_t>(config.server.connections_max),
       .request_memory_max = static_cast<size_t>(config.server.request_memory_max) << 20,
       .identity = identity});
  if (!server.ok()) return server.status();
  rpc_server = std::move(*server);
  return absl::OkStatus();
}

void Daemon::Parts::WatchConfig() {
  if (!CanReadAgain(sources.file)) return;
  config_reload.emplace(
      sources, at_start,
      [this](const config::Config& now) { live.Apply(now, *locks, *lock_observer); }, logger,
      metrics.settings_need_restart());
  reloads->Add("config", config_reload->Reader(), config_reload->contents(),
               config_reload->Taker());
}

std::function<rpc::ConfigFileState()> Daemon::Parts::ConfigFileTeller() const {
  if (!config_reload) return nullptr;
  return [this] { return config_reload->state(); };
}

absl::StatusOr<std::unique_ptr<Daemon>> Daemon::Start(const config::ConfigSources& sources,
                                                      const config::LoadedConfig& loaded,
                                                      telemetry::Log& log,
                                                      std::function<void()> on_asked_to_stop) {
  auto parts = std::make_unique<Parts>(sources, loaded, log, std::move(on_asked_to_stop));
  if (auto status = parts->OpenAudit(); !status.ok()) return status;
  if (auto status = parts->OpenTraces(); !status.ok()) return status;
  if (auto status = parts->LoadIdentity(); !status.ok()) return status;
  if (auto status = parts->LoadAccess(); !status.ok()) return status;
  if (auto status = parts->StartLocks(); !status.ok()) return status;
  parts->WatchConfig();
  if (auto status = parts->StartHttp(); !status.ok()) return status;
  if (auto status = parts->StartRpc(); !status.ok()) return status;
  parts->reloads->Start();
  return std::unique_ptr<Daemon>(new Daemon(std::move(parts)));
}

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Daemon::~Daemon() = default;

std::string Daemon::Addresses() const {
  const auto& grpc = parts_->rpc_server->addresses();
  std::string text = "grpc=";
  text += absl::StrJoin(grpc, ",", [](std::string* out, const config::ListenAddress& address) {
    out->append(address.ToString());
  });
  if (parts_->http_server) text += " http=" + parts_->http_server->address().ToString();
  return text;
}

void Daemon::StartBeat(std::chrono::microseconds period, std::function<void()> beat) {
  parts_->locks->StartBeat(period, std::move(beat));
}

void Daemon::Hangup() {
  if (parts_->trail) parts_->trail->Reopen();
  parts_->reloads->LookNow();
}

Daemon::DrainEnd Daemon::Drain() {
  const core::Instant begin = parts_->loop().Now();
  const core::Instant deadline = begin + parts_->config.drain.timeout;
  parts_->health.StartDraining();
  parts_->locks->StartDraining();
  // Acquires from before the drain end within this time. Do not wait for an idle moment: other
  // calls may keep coming for ever.
  parts_->locks->WaitUntilIdle(std::min(deadline, begin + parts_->config.store.request_timeout));

  const auto left = std::chrono::duration_cast<Millis>(deadline - parts_->loop().Now());
  parts_->rpc_server->Shutdown(std::max(left, Millis(0)));
  const size_t outstanding = parts_->locks->WaitUntilIdle(deadline);
  if (outstanding == 0) return DrainEnd::kDrained;
  parts_->logger.Warn("daemon.drain_timed_out",
                      "Work in flight did not end in time; leases end by their ttl",
                      {field::Outstanding(static_cast<int64_t>(outstanding)),
                       field::Limit(parts_->config.drain.timeout)});
  return DrainEnd::kTimedOut;
}

}  // namespace lockkeeper
