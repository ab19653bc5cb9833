// SPDX-License-Identifier: Apache-2.0
#include "histories/scene.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "support/clock/boot_nanos.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::histories {
namespace {

constexpr std::chrono::milliseconds kPatience{30'000};
constexpr std::chrono::milliseconds kBetweenTries{50};

}  // namespace

Scene::Scene(SceneOptions options, uint64_t seed)
    : options_(std::move(options)),
      random_(seed),
      daemons_(static_cast<size_t>(options_.daemons)),
      clients_(static_cast<size_t>(options_.clients)),
      began_(support::BootNanos()) {
  switch (options_.store) {
    case StoreKind::kOneRedis:
      redis_ = std::make_unique<support::RedisServer>(support::RedisServerOptions{
          .durability = support::Durability::kDiskAlways, .environment = clock_.environment()});
      break;
    case StoreKind::kSentinels:
      sentinels_ = std::make_unique<support::SentinelSet>(
          support::SentinelSetOptions{.down_after = kPrimarySilence});
      break;
    case StoreKind::kCluster:
      cluster_ = std::make_unique<support::ClusterSet>(options_.cluster);
      break;
  }
  for (size_t i = 0; i < daemons_.size(); ++i) {
    if (redis_) {
      daemons_[i].redis = std::make_unique<support::ConnectionGate>(redis_->socket_path());
    }
    daemons_[i].clients = std::make_unique<support::ConnectionGate>(DaemonSocket(i));
  }
}

Scene::~Scene() {
  for (size_t i = 0; i < daemons_.size(); ++i) KeepLog(i);
  const auto keep = [this](const std::string& name, const support::RedisServer& server) {
    std::ofstream(options_.output + "/" + name + ".log") << server.Output();
  };
  for (size_t i = 0; sentinels_ && i < sentinels_->servers(); ++i) {
    keep("redis" + std::to_string(i), sentinels_->server(i));
  }
  for (size_t i = 0; sentinels_ && i < sentinels_->sentinels(); ++i) {
    keep("sentinel" + std::to_string(i), sentinels_->sentinel(i));
  }
  for (size_t i = 0; cluster_ && i < cluster_->servers(); ++i) {
    keep("redis" + std::to_string(i), cluster_->server(i));
  }
}

std::string Scene::StoreUrl(size_t i) const {
  if (sentinels_) return sentinels_->url();
  return cluster_ ? cluster_->url() : "unix://" + daemons_[i].redis->path();
}

std::string Scene::DaemonSocket(size_t i) const {
  return directory_.Path("daemon" + std::to_string(i));
}

void Scene::StartDaemon(size_t i, size_t build) {
  const DaemonBuild& chosen = options_.builds[build];
  std::map<std::string, std::string> settings = {
      {"LOCKKEEPERD_STORE_RECORD_RETENTION", "24h"},
      {"LOCKKEEPERD_STORE_FIRST_USE_WAIT", "3s"},
      {"LOCKKEEPERD_LEASE_MAX_TTL", redis_ ? "3s" : std::to_string(longest_ttl().count()) + "ms"},
      {"LOCKKEEPERD_DRAIN_TIMEOUT", "2s"}};
  for (const auto& [variable, value] : chosen.settings) settings[variable] = value;
  daemons_[i].process = std::make_unique<support::DaemonProcess>(
      support::DaemonProcessOptions{.program = chosen.program,
                                    .arguments = {"--redis", StoreUrl(i), "--listen",
                                                  "unix:" + DaemonSocket(i), "--http-listen", ""},
                                    .environment = {settings.begin(), settings.end()}});
}

void Scene::StartDaemons() {
  for (size_t i = 0; i < daemons_.size(); ++i) StartDaemon(i);
  for (size_t i = 0; i < daemons_.size(); ++i) AwaitDaemon(i);
}

void Scene::AwaitDaemon(size_t i) {
  daemon(i).WaitUntilReady();
  GrantLongestLease(i);
}

void Scene::GrantLongestLease(size_t i) {
  support::LockClient client(daemon_gate(i).address(), kPatience);
  const auto request =
      support::AcquireOf("longest" + std::to_string(i), support::NewLeaseId(), longest_ttl());
  const auto until = std::chrono::steady_clock::now() + kPatience;
  for (auto answer = client.Acquire(request); !answer.response.has_lease();
       answer = client.Acquire(request)) {
    if (std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("the first acquire fails: " + answer.status.error_message());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

void Scene::StartClient(size_t i) {
  const std::string name = std::to_string(i) + "." + std::to_string(clients_[i].replaced);
  histories_.push_back(options_.output + "/client-" + name + ".jsonl");
  std::vector<std::string> command = {options_.client_program,
                                      histories_.back(),
                                      name,
                                      std::to_string(random_.Bits()),
                                      std::to_string(options_.actors),
                                      std::to_string(options_.locks),
                                      std::to_string(options_.round.count()),
                                      std::to_string(began_)};
  for (const Daemon& daemon : daemons_) command.push_back(daemon.clients->address());
  clients_[i].process = std::make_unique<support::ChildProcess>(support::ChildProcessOptions{
      .command = command, .output_file = options_.output + "/clients.log"});
}

void Scene::StartClients() {
  for (size_t i = 0; i < clients_.size(); ++i) StartClient(i);
}

void Scene::StopClients() {
  for (Client& client : clients_) client.process->Signal(SIGTERM);
  for (Client& client : clients_) {
    const auto end = client.process->WaitForEnd(kPatience);
    if (!end || end->exit_code != 0) throw std::runtime_error("a client did not end well");
  }
}

void Scene::ReplaceClient(size_t i) {
  ++clients_[i].replaced;
  StartClient(i);  // The process before it ends with its object.
}

void Scene::KeepLog(size_t i) {
  if (!DaemonRuns(i)) return;
  std::ofstream(options_.output + "/daemon" + std::to_string(i) + ".log", std::ios::app)
      << daemon(i).Stderr();
}

void Scene::KillDaemon(size_t i) {
  daemon(i).Signal(SIGKILL);
  daemon(i).WaitForEnd();
  KeepLog(i);
  daemons_[i].process.reset();
}

void Scene::DrainDaemon(size_t i) {
  daemon(i).Signal(SIGTERM);
  daemon(i).WaitForEnd();
  KeepLog(i);
  daemons_[i].process.reset();
}

std::string Scene::RedisData() const {
  return std::filesystem::path(redis_->socket_path()).parent_path() / "appendonlydir";
}

void Scene::KeepData() {
  const std::string kept = directory_.Path("kept");
  std::filesystem::remove_all(kept);
  std::filesystem::copy(RedisData(), kept, std::filesystem::copy_options::recursive);
}

void Scene::PutOldDataBack() {
  std::filesystem::remove_all(RedisData());
  std::filesystem::copy(directory_.Path("kept"), RedisData(),
                        std::filesystem::copy_options::recursive);
}

}  // namespace lockkeeper::histories
