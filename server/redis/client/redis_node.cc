// SPDX-License-Identifier: Apache-2.0
#include "redis/client/redis_node.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "text/stable_hash.h"

namespace lockkeeper::redis {

ConnectionOptions ConnectionOptionsOf(const RedisNodeOptions& options) {
  return {.url = options.url,
          .expected = options.expected,
          .tls = options.tls,
          .client_name = "lockkeeperd:" + options.daemon_id,
          .key_prefix = options.key_prefix,
          .scripts = options.scripts,
          .connect_timeout = options.connect_timeout,
          .request_timeout = options.request_timeout,
          .probe_interval = options.probe_interval};
}

namespace {

// What a server told last, in the handshake or since.
struct Told {
  NodeLife life;
  std::string problem;  // See Node::setting_problem.
  core::Assurance assurance = core::Assurance::kNone;
  int64_t replicas = 0;  // That follow it.
  std::string version;
};

Told ToldBy(const ServerFacts& facts, const RedisNodeOptions& options) {
  Told told{.life = facts.Life(),
            .assurance = facts.Assurance(),
            .replicas = facts.ConnectedReplicas(),
            .version = facts.Version()};
  const std::optional<StoreProblem> problem = Judge(facts, options.expected);
  told.problem = problem ? problem->text : SettingProblem(facts, options.assumed, options.expected);
  if (told.problem.empty()) told.problem = AssuranceProblem(facts, options.min_assurance);
  if (options.expected == Expected::kPrimary && !options.assumed.no_split_brain) {
    told.life.isolation =
        std::max(facts.WritesAloneFor().value_or(options.isolation_min), options.isolation_min);
  }
  if (options.expected == Expected::kClusterPrimary) {
    told.life.isolation = IsolationInCluster(facts);
  }
  return told;
}

}  // namespace

struct RedisNode::Pooled {
  Pooled(loop::EventLoop& loop, const RedisNodeOptions& options, uint64_t seed, RedisNode& node)
      : connection(loop, ConnectionOptionsOf(options),
                   loop::Backoff(options.backoff, loop::Jitter(seed)), node) {}

  ReconnectingConnection connection;
  Told told;  // Empty while the connection is not ready.
};

RedisNode::RedisNode(loop::EventLoop& loop, const RedisNodeOptions& options, NodeObserver& observer)
    : loop_(loop), options_(options), observer_(observer) {
  for (size_t i = 0; i < options.connections; ++i) {
    pool_.push_back(std::make_unique<Pooled>(loop, options, options.seed + i, *this));
  }
  health_ = ComputeHealth();
  settings_watch_ = std::make_unique<SettingsWatch>(
      loop, options.settings_interval, options.key_prefix, [this] { return AnyReady(); },
      [this](core::Micros elapsed, std::optional<core::NodeTime> clock) {
        observer_.OnLooked(elapsed, clock);
      },
      [this](const ServerFacts& facts) { Learn(facts); });
}

RedisNode::~RedisNode() { Close(); }

Route RedisNode::RouteOf(std::string_view record_key) const {
  return {.connection = text::StableHash(record_key) % pool_.size()};
}

Route RedisNode::AnyRoute() const {
  size_t first = 0;
  while (first < pool_.size() && !pool_[first]->connection.ready()) ++first;
  return {.connection = first % pool_.size()};
}

void RedisNode::Run(Route route, const ScriptSource& script, Command command, ReplyDone done) {
  pool_[route.connection]->connection.Run(script, std::move(command), std::move(done));
}

void RedisNode::Send(Route route, Command command, ReplyDone done) {
  pool_[route.connection]->connection.Send(command.wire(), std::move(done));
}

void RedisNode::Subscribe(const std::string& channel, MessageListener listener) {
  subscription_ = std::make_unique<Subscription>(
      loop_, ConnectionOptionsOf(options_),
      loop::Backoff(options_.backoff, loop::Jitter(options_.seed + pool_.size())),
      std::vector{channel},
      [listener = std::move(listener)](std::string_view, std::string_view message) {
        listener(message);
      });
}

Confirmations& RedisNode::StartConfirmations() {
  if (!confirmations_) {
    Confirmations::Listener& listener = *this;
    confirmations_ = std::make_unique<Confirmations>(
        loop_, ConnectionOptionsOf(options_),
        loop::Backoff(options_.backoff, loop::Jitter(options_.seed + pool_.size() + 1)),
        ConfirmationsOptions{
            .replicas = options_.replicas,
            .key = options_.confirmation_key
                       ? options_.confirmation_key
                       : [key = options_.key_prefix + "confirmation"] { return key; },
            .round_max = options_.request_timeout / 2},
        listener);
  }
  return *confirmations_;
}

// Replies confirm as much as they do; replicas are asked besides.
bool RedisNode::MayConfirm(core::Assurance wanted) const {
  if (!health_.reachable || wanted <= assurance_) return true;
  const bool has_replicas = std::all_of(pool_.begin(), pool_.end(), [this](const auto& pooled) {
    return pooled->told.replicas >= options_.replicas;
  });
  if (wanted != core::Assurance::kReplicas || !has_replicas) return false;
  return !confirmations_ || confirmations_->problem().empty();
}

void RedisNode::Confirm(Route route, core::Assurance wanted, core::Instant deadline,
                        ConfirmDone done) {
  const Told& told = pool_[route.connection]->told;
  if (wanted != core::Assurance::kReplicas || told.life.run_id.empty()) {
    return loop_.Post(
        [done = std::move(done), given = told.assurance]() mutable { std::move(done)(given); });
  }
  StartConfirmations().Confirm(
      told.life.run_id, deadline,
      [done = std::move(done), given = told.assurance](bool confirmed) mutable {
        std::move(done)(confirmed ? core::Assurance::kReplicas : given);
      });
}

std::string RedisNode::ConfirmationProblem() const {
  // It would say kDisk, or its settings would be the problem.
  if (options_.min_assurance == core::Assurance::kDisk && assurance_ == core::Assurance::kMemory) {
    return "is writing its append-only file anew, which may not have everything yet "
           "(store.assurance)";
  }
  if (options_.min_assurance != core::Assurance::kReplicas || !confirmations_) return "";
  const std::string& problem = confirmations_->problem();
  return problem.empty() ? "" : problem + " (store.assurance)";
}

void RedisNode::SetHealthListener(NodeHealthListener listener) {
  health_listener_ = std::move(listener);
}

void RedisNode::SetBrokenListener(std::function<void()> listener) {
  broken_listener_ = std::move(listener);
}

void RedisNode::MoveTo(const RedisUrl& url, const StoreProblem& why) {
  options_.url = url;
  for (const auto& pooled : pool_) pooled->connection.MoveTo(url, why);
  if (subscription_) subscription_->MoveTo(url, why);
  if (confirmations_) confirmations_->MoveTo(url, why);
  UpdateHealth();
}

const NodeLife& RedisNode::life(Route route) const { return pool_[route.connection]->told.life; }

ReconnectingConnection* RedisNode::AnyReady() {
  for (const auto& pooled : pool_) {
    if (pooled->connection.ready()) return &pooled->connection;
  }
  return nullptr;
}

// What the server is like now: all connections to this start of it take that over.
void RedisNode::Learn(const ServerFacts& facts) {
  const Told told = ToldBy(facts, options_);
  for (const auto& pooled : pool_) {
    if (pooled->told.life.run_id != told.life.run_id) continue;
    const Told before = std::exchange(pooled->told, told);
    if (before.life.primary_since.micros > 0) {
      pooled->told.life.primary_since = before.life.primary_since;
    }
    if (told.assurance > before.assurance && facts.IsRewriting()) {
      pooled->told.assurance = before.assurance;
      pooled->told.life.durable = before.life.durable;
    }
  }
  UpdateHealth();
}

void RedisNode::Close() {
  settings_watch_.reset();
  for (const auto& pooled : pool_) pooled->connection.Close();
  if (subscription_) subscription_->Close();
  if (confirmations_) confirmations_->Close();
}

void RedisNode::OnReady(ReconnectingConnection& connection, const ServerFacts& facts) {
  // What other connections to this start of the server know; nothing that Learn() would build on if
  // there are none.
  Told known;
  known.life.run_id = facts.Life().run_id;
  known.assurance = core::Assurance::kMemory;
  for (const auto& pooled : pool_) {
    if (pooled->told.life.run_id == known.life.run_id) known = pooled->told;
  }
  pool_[IndexOf(connection)]->told = std::move(known);
  observer_.OnConnected(IndexOf(connection), facts.Version());
  Learn(facts);
}

void RedisNode::OnDown(ReconnectingConnection& connection, Before before) {
  pool_[IndexOf(connection)]->told = {};
  if (before == Before::kReady) {
    observer_.OnConnectionLost(IndexOf(connection), connection.problem());
  } else {
    observer_.OnConnectFailed(IndexOf(connection), connection.problem());
  }
  UpdateHealth();
  broken_listener_();
}

void RedisNode::OnScriptLoadedAgain(std::string_view script) {
  observer_.OnScriptLoadedAgain(script);
}

void RedisNode::OnScriptCallEnded(std::string_view script, ScriptCallEnd end,
                                  core::Micros elapsed) {
  observer_.OnScriptCallEnded(script, end, elapsed);
}

size_t RedisNode::IndexOf(const ReconnectingConnection& connection) const {
  const auto found = std::find_if(pool_.begin(), pool_.end(), [&](const auto& pooled) {
    return &pooled->connection == &connection;
  });
  return static_cast<size_t>(found - pool_.begin());
}

NodeHealth RedisNode::ComputeHealth() const {
  NodeHealth health{.reachable = true,
                    .server_version = health_.server_version,
                    .assurance = core::Assurance::kQuorum};
  for (const auto& pooled : pool_) {
    const ReconnectingConnection& connection = pooled->connection;
    if (connection.ready()) {
      health.server_version = pooled->told.version;
      health.assurance = std::min(health.assurance, pooled->told.assurance);
      if (!pooled->told.problem.empty() && health.problem.empty()) {
        health.problem = options_.url.Address() + " " + pooled->told.problem;
        health.refused = true;
      }
    } else if (health.reachable || connection.problem().kind == StoreProblem::Kind::kRefused) {
      // A refusal says more than a connection that is still being made.
      health.reachable = false;
      health.problem = connection.problem().text;
      health.refused = connection.problem().kind == StoreProblem::Kind::kRefused;
      health.connecting = connection.problem().kind == StoreProblem::Kind::kConnecting;
    }
  }
  if (!health.reachable) health.assurance = core::Assurance::kNone;
  return health;
}

void RedisNode::UpdateHealth() {
  NodeHealth health = ComputeHealth();
  assurance_ = health.assurance;
  const bool all_need_replicas = options_.min_assurance == core::Assurance::kReplicas;
  if (health.reachable && all_need_replicas) StartConfirmations();
  setting_problem_.clear();
  for (const auto& pooled : pool_) {
    if (setting_problem_.empty()) setting_problem_ = pooled->told.problem;
  }
  if (setting_problem_.empty()) setting_problem_ = ConfirmationProblem();
  if (health.reachable && all_need_replicas && confirmations_->confirms()) {
    health.assurance = core::Assurance::kReplicas;
  }
  if (health == health_) return;
  health_ = std::move(health);
  if (health_listener_) health_listener_(health_);
}

}  // namespace lockkeeper::redis
