// SPDX-License-Identifier: Apache-2.0
#include "daemon/lock_loop.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "redis/cluster/slot.h"
#include "redis/parted_store.h"

namespace lockkeeper::daemon {
namespace {

constexpr core::Millis kIdleCheckInterval{5};
constexpr core::Millis kLagInterval{500};

void Report(const redis::NodeHealth& node, telemetry::HealthBoard& health) {
  health.ReportStore([&node](telemetry::StoreStatus& status) {
    status.reachable = node.reachable;
    status.problem = node.reachable ? "" : node.problem;
    status.server_version = node.server_version;
    status.assurance = node.assurance;
  });
}

}  // namespace

struct LockLoop::IdleWatch {
  core::Instant deadline;
  std::promise<size_t> outstanding;
  std::unique_ptr<core::Timer> timer;
};

LockLoop::LockLoop(const LockLoopOptions& options, const LockLoopDeps& deps)
    : health_(deps.health),
      lag_(deps.metrics.event_loop_lag()),
      watch_(deps.health),
      loop_("loop"),
      node_telemetry_({deps.log, "redis"}, deps.metrics, deps.health),
      guard_telemetry_({deps.log, "guard"}, deps.metrics, deps.health, loop_),
      contact_(std::in_place) {
  first_contact_ = contact_->get_future();
  loop_.RunAndWait([&] {
    health_.ReportStore([](telemetry::StoreStatus& status) {
      status.looked = status.grants = false;  // Until the guard reports.
    });
    options.cluster.empty() ? OpenNode(options) : OpenCluster(options);
    OpenDomain(options, deps);
    MeasureLag(loop_.Now());
  });
}

void LockLoop::OpenNode(const LockLoopOptions& options) {
  node_ = std::make_unique<redis::RedisNode>(loop_, options.node, node_telemetry_);
  store_ =
      std::make_unique<redis::RedisStore>(*node_, loop_, loop_, guard_telemetry_, options.store);
  node_->SetHealthListener([this](const redis::NodeHealth& health) { OnHealth(health); });
  if (options.sentinels) {
    sentinels_ =
        std::make_unique<redis::SentinelWatch>(loop_, *options.sentinels, *node_, node_telemetry_);
  }
}

void LockLoop::OpenCluster(const LockLoopOptions& options) {
  cluster_ = std::make_unique<redis::Cluster>(
      loop_, redis::ClusterOptions{.servers = options.cluster, .node = options.node},
      node_telemetry_);
  std::vector<redis::StorePart> parts;
  parts.reserve(redis::kClusterParts);
  for (size_t i = 0; i < redis::kClusterParts; ++i) {
    parts.push_back({&cluster_->part(i), cluster_->PrefixOfPart(i)});
  }
  store_ =
      std::make_unique<redis::PartedStore>(parts, loop_, loop_, guard_telemetry_, options.store);
  cluster_->SetHealthListener([this](const redis::NodeHealth& health) { OnHealth(health); });
}

void LockLoop::OpenDomain(const LockLoopOptions& options, const LockLoopDeps& deps) {
  core::LockStore* store = &store_->locks();
  core::WaitingLine* line = &store_->line();
  core::LockObserver* observer = &contended_.emplace(deps.lock_observer, loop_);
  if (deps.tracer != nullptr) {
    tracing::TracedStore& traced = traced_store_.emplace(*store, *line, *deps.tracer, "redis");
    store = &traced;
    line = &traced;
    observer = &traced_observer_.emplace(*observer, *deps.tracer);
  }
  watches_ = std::make_unique<core::LockWatches>(options.store.daemon_id, store_->admin(),
                                                 &store_->exchange(), loop_, loop_);
  guard_telemetry_.SetQuarantineListener(
      [this](core::Micros left) { watches_->OnQuarantine(left); });
  watched_observer_ = std::make_unique<core::WatchedLockObserver>(*observer, *watches_);
  domain_ =
      std::make_unique<core::Domain>(*store, line, loop_, loop_, *watched_observer_, options.locks);
}

LockLoop::~LockLoop() {
  loop_.RunAndWait([this] {  // What they send goes out at the end of that turn.
    watches_->Stop();
    store_->LeaveRoll();
  });
  loop_.RunAndWait([this] {
    lag_timer_.reset();
    beat_timer_.reset();
    node_telemetry_.StopTelling();
    sentinels_.reset();
    if (node_) {
      node_->SetHealthListener([](const redis::NodeHealth&) {});
      node_->Close();
    }
    if (cluster_) {
      cluster_->SetHealthListener([](const redis::NodeHealth&) {});
      cluster_->Close();
    }
    store_->Close();  // Before the manager is gone, which waits for answers.
  });
  loop_.RunAndWait([] {});  // What was refused by then is answered in this turn.
  loop_.RunAndWait([this] {
    domain_.reset();
    watched_observer_.reset();
    guard_telemetry_.SetQuarantineListener([](core::Micros) {});
    watches_.reset();
    store_.reset();
    node_.reset();
    cluster_.reset();
  });
  loop_.Stop();
}

std::optional<redis::NodeHealth> LockLoop::WaitForFirstContact(core::Millis limit) {
  const auto is_known = [this](core::Millis time) {
    return first_contact_.wait_for(time) == std::future_status::ready;
  };
  std::optional<redis::NodeHealth> contact;
  if (is_known(limit)) contact = first_contact_.get();
  if (contact && contact->refused) return contact;
  loop_.RunAndWait([this] {
    is_starting_ = false;
    node_telemetry_.StartTellingRefusals();
  });
  if (!contact && is_known(core::Millis(0))) contact = first_contact_.get();
  return contact;
}

void LockLoop::OnHealth(const redis::NodeHealth& health) {
  // Connections get ready one after another; until the last one is, nothing is known yet.
  if (contact_ && health.connecting) return;
  const bool ends_start = is_starting_ && contact_ && health.refused;
  if (!ends_start) Report(health, health_);
  if (!contact_) return;
  contact_->set_value(health);
  contact_.reset();
}

void LockLoop::StartBeat(core::Micros period, std::function<void()> beat) {
  loop_.RunAndWait([&] {
    beat_period_ = period;
    beat_ = std::move(beat);
    Beat();
  });
}

void LockLoop::StartDraining() {
  loop_.RunAndWait([this] {
    watches_->StartDraining();
    locks().StartDraining();
  });
}

size_t LockLoop::WaitUntilIdle(core::Instant deadline) {
  auto watch = std::make_shared<IdleWatch>();
  watch->deadline = deadline;
  std::future<size_t> outstanding = watch->outstanding.get_future();
  loop_.Post([this, watch = std::move(watch)]() mutable { CheckIdle(std::move(watch)); });
  return outstanding.get();
}

void LockLoop::CheckIdle(std::shared_ptr<IdleWatch> watch) {
  const size_t outstanding = locks().outstanding();
  if (outstanding == 0 || loop_.Now() >= watch->deadline) {
    watch->timer.reset();
    watch->outstanding.set_value(outstanding);
    return;
  }
  IdleWatch& kept = *watch;
  kept.timer = loop_.After(kIdleCheckInterval, [this, watch = std::move(watch)]() mutable {
    CheckIdle(std::move(watch));
  });
}

void LockLoop::MeasureLag(core::Instant due) {
  const auto lag = std::chrono::duration_cast<core::Micros>(loop_.Now() - due);
  lag_.Observe(std::max(lag, core::Micros(0)));
  watch_.Turned();
  const core::Instant next = loop_.Now() + kLagInterval;
  lag_timer_ = loop_.After(kLagInterval, [this, next] { MeasureLag(next); });
}

void LockLoop::Beat() {
  beat_();
  beat_timer_ = loop_.After(beat_period_, [this] { Beat(); });
}

}  // namespace lockkeeper::daemon
