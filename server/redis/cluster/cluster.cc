// SPDX-License-Identifier: Apache-2.0
#include "redis/cluster/cluster.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/errors.h"
#include "redis/client/reconnecting_connection.h"
#include "redis/client/subscription.h"
#include "redis/cluster/slot.h"
#include "redis/node/command.h"
#include "redis/node/error_reply.h"
#include "text/stable_hash.h"

namespace lockkeeper::redis {
namespace {

using core::Instant;
using core::Millis;
using Kind = StoreProblem::Kind;

// For how long it counts more what a server said of a slot that it had to refuse, than what others
// say, who may not have heard of it yet.
constexpr Millis kRedirectionHolds{2'000};
// For how long calls are kept, so that they can be sent on, after one had to be.
constexpr Millis kMovingTakes{2'000};
// Between questions, however many calls are refused.
constexpr Millis kAskPause{100};
// The most connections of one server, see RedisNodeOptions; with as many, observers tell the
// connections of all servers apart.
constexpr size_t kConnectionsMax = 64;

// Of a connection that asks a server of the Cluster, or hears it, whatever it serves.
ConnectionOptions OptionsAt(const RedisUrl& url, RedisNodeOptions options) {
  options.url = url;
  options.expected = Expected::kClusterServer;
  return ConnectionOptionsOf(options);
}

bool IsError(const absl::StatusOr<Reply>& reply) {
  return reply.ok() && reply->type == Reply::Type::kError;
}

}  // namespace

// A primary.
struct Cluster::Server final : NodeObserver {
  Server(Cluster& of, const RedisUrl& at, size_t number)
      : cluster(of), url(at), first_connection(number * kConnectionsMax) {
    RedisNodeOptions options = of.options_.node;
    options.url = at;
    options.expected = Expected::kClusterPrimary;
    options.confirmation_key = [this] { return cluster.KeyAt(*this); };
    options.seed += number * (kConnectionsMax + 2);
    node = std::make_unique<RedisNode>(of.loop_, options, *this);
    node->SetHealthListener([this](const NodeHealth&) { cluster.UpdateHealth(); });
    node->SetBrokenListener([this] { cluster.AskAll(); });
    std::vector<std::string> channels;
    channels.reserve(of.by_channel_.size());
    for (const auto& [channel, part] : of.by_channel_) channels.push_back(channel);
    if (channels.empty()) return;
    subscription = std::make_unique<Subscription>(
        of.loop_, OptionsAt(at, options),
        loop::Backoff(options.backoff, loop::Jitter(options.seed + kConnectionsMax + 1)),
        std::move(channels), [this](std::string_view channel, std::string_view message) {
          cluster.OnMessage(*this, channel, message);
        });
  }

  void Close() {
    node->Close();
    if (subscription) subscription->Close();
  }

  // Empty while there is no connection.
  const std::string& run_id() const { return node->life(node->AnyRoute()).run_id; }

  void OnConnected(size_t connection, std::string_view version) override {
    cluster.observer_.OnConnected(first_connection + connection, version);
    cluster.AskAll();
  }
  void OnConnectionLost(size_t connection, const StoreProblem& problem) override {
    cluster.observer_.OnConnectionLost(first_connection + connection, problem);
  }
  void OnConnectFailed(size_t connection, const StoreProblem& problem) override {
    cluster.observer_.OnConnectFailed(first_connection + connection, problem);
  }
  void OnLooked(core::Micros elapsed, std::optional<core::NodeTime> clock) override {
    cluster.observer_.OnLooked(elapsed, clock);
  }
  void OnScriptLoadedAgain(std::string_view script) override {
    cluster.observer_.OnScriptLoadedAgain(script);
  }
  void OnConfirmationEnded(bool confirmed, core::Micros elapsed) override {
    cluster.observer_.OnConfirmationEnded(confirmed, elapsed);
  }
  void OnScriptCallEnded(std::string_view script, ScriptCallEnd end,
                         core::Micros elapsed) override {
    cluster.observer_.OnScriptCallEnded(script, end, elapsed);
  }

  Cluster& cluster;
  const RedisUrl url;
  const size_t first_connection;
  Said said;
  std::unique_ptr<RedisNode> node;
  std::unique_ptr<Subscription> subscription;
};

// A server of the configuration, whatever it is in the Cluster: it is asked where the slots are.
class Cluster::Seed final : private ReconnectingConnection::Listener {
 public:
  Seed(Cluster& cluster, const RedisUrl& url, uint64_t seed)
      : cluster_(cluster),
        url_(url),
        connection_(cluster.loop_, OptionsAt(url, cluster.options_.node),
                    loop::Backoff(cluster.options_.node.backoff, loop::Jitter(seed)), *this) {}

  const RedisUrl& url() const { return url_; }
  Said& said() { return said_; }
  const Said& said() const { return said_; }
  bool ready() const { return connection_.ready(); }

  // Why it names nobody who serves a part.
  StoreProblem Problem() const {
    if (!ready()) return connection_.problem();
    const std::string place = url_.Address();
    if (!said_.refusal.empty()) {
      return {Kind::kRefused, place + " answered CLUSTER NODES with: " + said_.refusal};
    }
    if (!said_.view) return {Kind::kConnecting, place + " is being asked"};
    return {Kind::kUnreachable, place +
                                    " knows of no server with slots: make the Cluster first, "
                                    "with redis-cli --cluster create"};
  }

  void Ask() {
    if (!ready() || std::exchange(said_.asking, true)) return;
    connection_.Send(Command::Of({"CLUSTER", "NODES"}).wire(), [this](absl::StatusOr<Reply> reply) {
      if (!closed_) cluster_.OnSaid(said_, url_, reply);
    });
  }

  void Close() {
    closed_ = true;
    connection_.Close();
  }

 private:
  void OnReady(ReconnectingConnection&, const ServerFacts&) override { Ask(); }
  void OnDown(ReconnectingConnection&, Before) override { cluster_.DecideSoon(); }

  Cluster& cluster_;
  const RedisUrl url_;
  Said said_;
  bool closed_ = false;
  ReconnectingConnection connection_;
};

class Cluster::Part final : public Node {
 public:
  Part(Cluster& cluster, std::string prefix)
      : cluster_(cluster), prefix_(std::move(prefix)), slot_(SlotOf(prefix_)) {}

  Server* server() const { return server_; }
  uint16_t slot() const { return slot_; }
  const std::string& prefix() const { return prefix_; }

  // From now on this server serves it. True if another one did before.
  bool MoveTo(Server& server) {
    if (server_ == &server) return false;
    moved_at_ = cluster_.loop_.Now();
    return std::exchange(server_, &server) != nullptr;
  }

  // What a server said when it had to refuse a call counts for a while.
  bool IsRedirected() const { return cluster_.loop_.Now() < redirected_until_; }
  void Redirect() { redirected_until_ = cluster_.loop_.Now() + kRedirectionHolds; }

  // Every server that has the daemon's subscription passes on all messages of the Cluster: only
  // that of the one that serves the part counts. While it moves, messages may come twice.
  void OnMessage(const Server& from, std::string_view message) const {
    const bool moves = cluster_.loop_.Now() < moved_at_ + kRedirectionHolds;
    if (&from == server_ || moves) listener_(message);
  }

  Route RouteOf(std::string_view record_key) const override {
    return {.connection = text::StableHash(record_key) % cluster_.options_.node.connections};
  }
  Route AnyRoute() const override {
    return server_ == nullptr ? Route() : server_->node->AnyRoute();
  }

  void Run(Route route, const ScriptSource& script, Command command, ReplyDone done) override {
    if (server_ == nullptr) return Refuse(std::move(done));
    std::optional<Command> kept;
    if (cluster_.loop_.Now() < moving_until_) kept = command;
    server_->node->Run(route, script, std::move(command),
                       [this, route, &script, kept = std::move(kept),
                        done = std::move(done)](absl::StatusOr<Reply> reply) mutable {
                         Server* const next = IsError(reply) ? OnError(reply->text) : nullptr;
                         if (next == nullptr || !kept) return std::move(done)(std::move(reply));
                         next->node->Send(route, Command::Of({"ASKING"}),
                                          [](absl::StatusOr<Reply>) {});
                         next->node->Run(route, script, *std::move(kept), std::move(done));
                       });
  }

  void Send(Route route, Command command, ReplyDone done) override {
    if (server_ == nullptr) return Refuse(std::move(done));
    server_->node->Send(route, std::move(command),
                        [this, done = std::move(done)](absl::StatusOr<Reply> reply) mutable {
                          if (IsError(reply)) OnError(reply->text);
                          std::move(done)(std::move(reply));
                        });
  }

  void Subscribe(const std::string& channel, MessageListener listener) override {
    listener_ = std::move(listener);
    cluster_.by_channel_.emplace(channel, this);
  }

  const NodeLife& life(Route route) const override {
    static const NodeLife kNobody;
    return server_ == nullptr ? kNobody : server_->node->life(route);
  }
  bool HasPrimary(std::string_view run_id) const override { return cluster_.HasPrimary(run_id); }
  const std::string& setting_problem() const override {
    static const std::string kNone;
    return server_ == nullptr ? kNone : server_->node->setting_problem();
  }
  core::Assurance assurance() const override {
    return server_ == nullptr ? core::Assurance::kNone : server_->node->assurance();
  }
  bool MayConfirm(core::Assurance wanted) const override {
    return server_ == nullptr || server_->node->MayConfirm(wanted);
  }
  void Confirm(Route route, core::Assurance wanted, Instant deadline, ConfirmDone done) override {
    if (server_ != nullptr) return server_->node->Confirm(route, wanted, deadline, std::move(done));
    cluster_.loop_.Post(
        [done = std::move(done)]() mutable { std::move(done)(core::Assurance::kNone); });
  }

 private:
  void Refuse(ReplyDone done) const {
    cluster_.loop_.Post([slot = slot_, done = std::move(done)]() mutable {
      std::move(done)(
          core::Error(core::ErrorReason::kStoreUnavailable,
                      "no server of the Cluster is known to serve slot " + std::to_string(slot)));
    });
  }

  // Answers who may be asked in this case alone (ASK), if that one is connected.
  Server* OnError(std::string_view error) {
    const std::string_view word = ErrorWord(error);
    if (word == "CLUSTERDOWN") cluster_.AskAll();
    if (!IsOfMovedKeys(error)) return nullptr;
    moving_until_ = cluster_.loop_.Now() + kMovingTakes;
    const std::optional<Redirection> to = ReadRedirection(error);
    if (!to || to->slot != slot_) return nullptr;
    if (word == "MOVED") cluster_.OnMoved(*this, *to);
    if (word != "ASK") return nullptr;
    Server& next = cluster_.ServerAt(to->host.empty() ? server_->url.host : to->host, to->port);
    return next.run_id().empty() ? nullptr : &next;
  }

  Cluster& cluster_;
  const std::string prefix_;
  const uint16_t slot_;
  Server* server_ = nullptr;
  MessageListener listener_ = [](std::string_view) {};
  Instant moved_at_;
  Instant redirected_until_;
  Instant moving_until_;
};

Cluster::Cluster(loop::EventLoop& loop, ClusterOptions options, ClusterObserver& observer)
    : loop_(loop), options_(std::move(options)), observer_(observer) {
  for (size_t i = 0; i < kClusterParts; ++i) {
    parts_.push_back(std::make_unique<Part>(*this, PrefixOfPart(i)));
  }
  for (const RedisUrl& server : options_.servers) {
    seeds_.push_back(std::make_unique<Seed>(*this, server, ~options_.node.seed + seeds_.size()));
  }
  health_ = ComputeHealth();
  Tick();
}

Cluster::~Cluster() {
  *alive_ = false;
  Close();
}

Node& Cluster::part(size_t number) { return *parts_[number]; }

std::string Cluster::PrefixOfPart(size_t number) const {
  return options_.node.key_prefix + "{" + TagOfPart(number) + "}";
}

void Cluster::Close() {
  closed_ = true;
  timer_.reset();
  ask_timer_.reset();
  for (const auto& seed : seeds_) seed->Close();
  for (const auto& [address, server] : servers_) server->Close();
}

void Cluster::Tick() {
  timer_ = loop_.After(options_.ask_interval, [this] {
    Tick();
    asked_at_ = {};
    AskAll();
  });
}

void Cluster::AskAll() {
  if (closed_) return;
  const Instant now = loop_.Now();
  if (now < asked_at_ + kAskPause) return AskAllLater(asked_at_ + kAskPause - now);
  asked_at_ = now;
  for (const auto& seed : seeds_) seed->Ask();
  for (const auto& [address, server] : servers_) {
    Server& asked = *server;
    if (asked.run_id().empty() || std::exchange(asked.said.asking, true)) continue;
    asked.node->Send(asked.node->AnyRoute(), Command::Of({"CLUSTER", "NODES"}),
                     [this, &asked](absl::StatusOr<Reply> reply) {
                       if (!closed_) OnSaid(asked.said, asked.url, reply);
                     });
  }
}

void Cluster::AskAllLater(Instant::duration pause) {
  if (ask_timer_) return;
  ask_timer_ = loop_.After(std::chrono::ceil<core::Micros>(pause), [this] {
    ask_timer_.reset();
    AskAll();
  });
}

void Cluster::OnSaid(Said& said, const RedisUrl& asked, const absl::StatusOr<Reply>& reply) {
  said.asking = false;
  if (!reply.ok()) return;
  said.refusal = reply->type == Reply::Type::kError ? reply->text : "";
  if (auto view = ReadClusterNodes(reply->text, asked)) {
    said.view = std::move(view);
    said.at = loop_.Now();
  }
  DecideSoon();
}

// Servers must not be destroyed inside their own callbacks.
void Cluster::DecideSoon() {
  if (closed_ || std::exchange(decision_scheduled_, true)) return;
  loop_.Post([this, alive = alive_] {
    if (!*alive) return;
    decision_scheduled_ = false;
    if (!closed_) Decide();
  });
}

void Cluster::Decide() {
  std::vector<const ClusterView*> views;
  const auto take = [&](const Said& said) {
    if (said.view && loop_.Now() < said.at + options_.answer_lifetime) views.push_back(&*said.view);
  };
  for (const auto& seed : seeds_) take(seed->said());
  for (const auto& [address, server] : servers_) take(server->said);
  if (!views.empty()) {
    size_t moved = 0;
    std::set<const Server*> wanted;
    for (const auto& part : parts_) {
      const ClusterPrimary* const owner =
          part->IsRedirected() ? nullptr : OwnerOf(part->slot(), views);
      if (owner != nullptr && part->MoveTo(ServerAt(owner->host, owner->port))) ++moved;
      wanted.insert(part->server());
    }
    if (moved > 0) observer_.OnPartsMoved(moved);
    // Those without slots too: what is moved to them was moved to a server that is known.
    for (const ClusterView* view : views) {
      for (const ClusterPrimary& primary : view->primaries) {
        wanted.insert(&ServerAt(primary.host, primary.port));
      }
    }
    std::erase_if(servers_, [&wanted](const auto& entry) {
      const bool drops = !wanted.contains(entry.second.get());
      if (drops) entry.second->Close();
      return drops;
    });
  }
  UpdateHealth();
}

Cluster::Server& Cluster::ServerAt(const std::string& host, uint16_t port) {
  RedisUrl url = options_.servers.front();
  url.host = host;
  url.port = port;
  std::unique_ptr<Server>& server = servers_[url.Address()];
  if (!server) server = std::make_unique<Server>(*this, url, next_server_++);
  return *server;
}

void Cluster::OnMoved(Part& part, const Redirection& to) {
  part.Redirect();
  const std::string& host = to.host.empty() ? part.server()->url.host : to.host;
  if (part.MoveTo(ServerAt(host, to.port))) observer_.OnPartsMoved(1);
  AskAll();
}

void Cluster::OnMessage(const Server& from, std::string_view channel, std::string_view message) {
  const auto part = by_channel_.find(std::string(channel));
  if (part != by_channel_.end()) part->second->OnMessage(from, message);
}

bool Cluster::HasPrimary(std::string_view run_id) const {
  return std::any_of(servers_.begin(), servers_.end(), [run_id](const auto& entry) {
    return !run_id.empty() && entry.second->run_id() == run_id;
  });
}

// One that the server may write: of a part that it serves.
std::string Cluster::KeyAt(const Server& server) const {
  const auto part = std::find_if(parts_.begin(), parts_.end(),
                                 [&server](const auto& of) { return of->server() == &server; });
  return (part == parts_.end() ? options_.node.key_prefix : (*part)->prefix()) + "confirmation";
}

NodeHealth Cluster::ComputeHealth() const {
  NodeHealth health;
  const auto tell = [&health](const StoreProblem& problem) {
    const bool refused = problem.kind == Kind::kRefused;
    // A refusal says more than what cannot be reached, and that more than what is being tried.
    if (!health.problem.empty() && !refused && !health.connecting) return;
    health.problem = problem.text;
    health.refused = refused;
    health.connecting = problem.kind == Kind::kConnecting;
  };
  std::vector<const Server*> serving;
  std::optional<uint16_t> unserved;
  for (const auto& part : parts_) {
    const Server* const server = part->server();
    if (server == nullptr) unserved = part->slot();
    if (server == nullptr || std::find(serving.begin(), serving.end(), server) != serving.end()) {
      continue;
    }
    serving.push_back(server);
  }
  if (serving.empty()) {
    for (const auto& seed : seeds_) {
      tell(seed->Problem());
    }
    return health;
  }
  health.assurance = core::Assurance::kQuorum;
  bool connecting = false;
  for (const Server* server : serving) {
    const NodeHealth& of = server->node->health();
    health.reachable = health.reachable || of.reachable;
    connecting = connecting || of.connecting;
    if (of.reachable) {
      health.assurance = std::min(health.assurance, of.assurance);
      health.server_version = of.server_version;
    }
    if (of.refused || (health.problem.empty() && !of.reachable)) {
      health.problem = of.problem;
      health.refused = of.refused;
    }
  }
  if (health.problem.empty() && unserved) {
    health.problem = "no server of the Cluster serves slot " + std::to_string(*unserved);
  }
  health.connecting = connecting && !health.refused;
  if (!health.reachable) health.assurance = core::Assurance::kNone;
  return health;
}

void Cluster::UpdateHealth() {
  if (closed_) return;
  size_t connected = 0;
  for (const auto& [address, server] : servers_) connected += server->run_id().empty() ? 0 : 1;
  const std::pair primaries(connected, servers_.size());
  if (primaries != std::exchange(primaries_told_, primaries)) {
    observer_.OnPrimaries(connected, servers_.size());
  }
  NodeHealth health = ComputeHealth();
  if (health == health_) return;
  health_ = std::move(health);
  if (health_listener_) health_listener_(health_);
}

}  // namespace lockkeeper::redis
