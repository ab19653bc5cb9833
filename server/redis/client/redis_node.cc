// SPDX-License-Identifier: Apache-2.0
#include "redis/client/redis_node.h"

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

namespace lockkeeper::redis {
namespace {

ConnectionOptions ConnectionOptionsOf(const RedisNodeOptions& options) {
  return {.url = options.url,
          .tls = options.tls,
          .client_name = "lockkeeperd:" + options.daemon_id,
          .key_prefix = options.key_prefix,
          .scripts = options.scripts,
          .connect_timeout = options.connect_timeout,
          .request_timeout = options.request_timeout,
          .probe_interval = options.probe_interval};
}

loop::RandomSource JitterOf(uint64_t seed) {
  return [engine = std::make_shared<std::mt19937_64>(seed)] {
    return std::uniform_real_distribution<double>()(*engine);
  };
}

// What a server told last, in the handshake or since.
struct Told {
  NodeLife life;
  core::Assurance assurance = core::Assurance::kNone;
  std::string version;
};

Told ToldBy(const ServerFacts& facts, const Assumptions& assumed) {
  Told told{.life = facts.Life(), .assurance = facts.Assurance(), .version = facts.Version()};
  const std::optional<StoreProblem> problem = Judge(facts);
  told.life.problem = problem ? problem->text : SettingProblem(facts, assumed);
  return told;
}

}  // namespace

struct RedisNode::Slot {
  Slot(loop::EventLoop& loop, const RedisNodeOptions& options, uint64_t seed, RedisNode& node)
      : lane(loop, ConnectionOptionsOf(options), loop::Backoff(options.backoff, JitterOf(seed)),
             node),
        scripts(loop, lane, node.observer_) {}

  Lane lane;
  ScriptCaller scripts;
  Told told;  // Empty while the lane is not ready.
};

RedisNode::RedisNode(loop::EventLoop& loop, const RedisNodeOptions& options, NodeObserver& observer)
    : loop_(loop), options_(options), observer_(observer) {
  for (size_t i = 0; i < options.connections; ++i) {
    lanes_.push_back(std::make_unique<Slot>(loop, options, options.seed + i, *this));
  }
  health_ = ComputeHealth();
  settings_watch_ = std::make_unique<SettingsWatch>(
      loop, options.settings_interval, options.key_prefix, [this] { return AnyReadyLane(); },
      [this](const ServerFacts& facts) { Learn(facts); });
}

RedisNode::~RedisNode() { Close(); }

void RedisNode::Run(size_t lane, const ScriptSource& script, Command command, ReplyDone done) {
  lanes_[lane]->scripts.Run(script, std::move(command), std::move(done));
}

void RedisNode::Send(Command command, ReplyDone done) {
  // The next ready lane, or the next one to say why not.
  size_t lane = next_lane_ % lanes_.size();
  for (size_t i = 0; i < lanes_.size() && !lanes_[lane]->lane.ready(); ++i) {
    lane = (lane + 1) % lanes_.size();
  }
  next_lane_ = lane + 1;
  lanes_[lane]->lane.Send(command.wire(), std::move(done));
}

void RedisNode::Subscribe(const std::string& channel, MessageListener listener) {
  subscription_ = std::make_unique<Subscription>(
      loop_, ConnectionOptionsOf(options_),
      loop::Backoff(options_.backoff, JitterOf(options_.seed + lanes_.size())), channel,
      std::move(listener));
}

void RedisNode::SetHealthListener(NodeHealthListener listener) {
  health_listener_ = std::move(listener);
}

const NodeLife& RedisNode::life(size_t lane) const { return lanes_[lane]->told.life; }

Lane* RedisNode::AnyReadyLane() {
  for (const auto& slot : lanes_) {
    if (slot->lane.ready()) return &slot->lane;
  }
  return nullptr;
}

// What the server is like now: all lanes that are connected to this start of it take that over.
void RedisNode::Learn(const ServerFacts& facts) {
  const Told told = ToldBy(facts, options_.assumed);
  for (const auto& slot : lanes_) {
    if (slot->told.life.run_id != told.life.run_id) continue;
    const Told before = std::exchange(slot->told, told);
    if (told.assurance > before.assurance && facts.IsRewriting()) {
      slot->told.assurance = before.assurance;
      slot->told.life.durable = before.life.durable;
    }
  }
  UpdateHealth();
}

void RedisNode::Close() {
  settings_watch_.reset();
  for (const auto& slot : lanes_) slot->lane.Close();
  if (subscription_) subscription_->Close();
}

void RedisNode::OnLaneReady(Lane& lane, const ServerFacts& facts) {
  lanes_[IndexOf(lane)]->told = ToldBy(facts, options_.assumed);
  observer_.OnConnected(IndexOf(lane), facts.Version());
  Learn(facts);
}

void RedisNode::OnLaneDown(Lane& lane, Before before) {
  lanes_[IndexOf(lane)]->told = {};
  if (before == Before::kReady) {
    observer_.OnConnectionLost(IndexOf(lane), lane.problem());
  } else {
    observer_.OnConnectFailed(IndexOf(lane), lane.problem());
  }
  UpdateHealth();
}

size_t RedisNode::IndexOf(const Lane& lane) const {
  const auto found = std::find_if(lanes_.begin(), lanes_.end(),
                                  [&](const auto& slot) { return &slot->lane == &lane; });
  return static_cast<size_t>(found - lanes_.begin());
}

NodeHealth RedisNode::ComputeHealth() const {
  NodeHealth health{.reachable = true,
                    .server_version = health_.server_version,
                    .assurance = core::Assurance::kQuorum};
  for (const auto& slot : lanes_) {
    const Lane& lane = slot->lane;
    if (lane.ready()) {
      health.server_version = slot->told.version;
      health.assurance = std::min(health.assurance, slot->told.assurance);
      if (!slot->told.life.problem.empty() && health.problem.empty()) {
        health.problem = options_.url.Address() + " " + slot->told.life.problem;
        health.refused = true;
      }
    } else if (health.reachable || lane.problem().kind == StoreProblem::Kind::kRefused) {
      // A refusal says more than a connection that is still being made.
      health.reachable = false;
      health.problem = lane.problem().text;
      health.refused = lane.problem().kind == StoreProblem::Kind::kRefused;
    }
  }
  if (!health.reachable) health.assurance = core::Assurance::kNone;
  return health;
}

void RedisNode::UpdateHealth() {
  NodeHealth health = ComputeHealth();
  if (health == health_) return;
  health_ = std::move(health);
  if (health_listener_) health_listener_(health_);
}

}  // namespace lockkeeper::redis
