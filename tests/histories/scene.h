// SPDX-License-Identifier: Apache-2.0
//
// One Redis, a primary with replicas and Sentinels, or a Cluster; daemons before it, clients before
// those, as processes, with their files in a private directory. On unix sockets, with a gate on
// each daemon's link to the one Redis and on the clients' link to each daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "histories/journal.h"
#include "support/clock/server_clock.h"
#include "support/process/child_process.h"
#include "support/process/cluster_set.h"
#include "support/process/connection_gate.h"
#include "support/process/daemon_process.h"
#include "support/process/redis_server.h"
#include "support/process/sentinel_set.h"
#include "support/process/temporary_directory.h"
#include "support/random.h"

namespace lockkeeper::histories {

inline constexpr std::chrono::milliseconds kPrimarySilence{1'000};

enum class StoreKind { kOneRedis, kSentinels, kCluster };

// A program that a daemon can be, with settings besides those of the scene, which they overrule.
struct DaemonBuild {
  std::string program;
  std::vector<std::pair<std::string, std::string>> settings;  // By their environment variables.
};

struct SceneOptions {
  StoreKind store = StoreKind::kOneRedis;
  // Of kCluster. A primary is silent for so long before another one takes its place.
  support::ClusterSetOptions cluster{.replicas = 1, .node_timeout = kPrimarySilence};
  std::vector<DaemonBuild> builds;  // At least one.
  std::string client_program;
  std::string output;  // Folder that gets histories and logs.
  int daemons = 3;
  int clients = 3;  // Processes.
  int actors = 12;  // In each of them.
  int locks = 6;
  std::chrono::milliseconds round{20'000};
  // No lease is longer, and the first lease of each daemon is as long. At least 2 s, which is what
  // the actors ask for.
  std::chrono::milliseconds longest_ttl{2'000};
  // Daemons restore what they told after a failover: store.quarantine is until_restored.
  bool until_restored = false;
};

// Errors: throws std::runtime_error. Thread-safety: not thread-safe; made on the main thread.
class Scene {
 public:
  Scene(SceneOptions options, uint64_t seed);
  // Writes the logs of the daemons that run, and of Sentinels and several servers.
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  // Waits until they are ready, and know how long leases can be here.
  void StartDaemons();
  void AwaitDaemon(size_t i);
  void StartClients();
  // Ends them with SIGTERM.
  void StopClients();

  size_t daemons() const { return daemons_.size(); }
  size_t clients() const { return clients_.size(); }
  bool DaemonRuns(size_t i) const { return daemons_[i].process != nullptr; }
  support::DaemonProcess& daemon(size_t i) { return *daemons_[i].process; }
  support::ConnectionGate& daemon_gate(size_t i) { return *daemons_[i].clients; }
  // Of one Redis, as redis().
  support::ConnectionGate& redis_gate(size_t i) { return *daemons_[i].redis; }
  support::ChildProcess& client(size_t i) { return *clients_[i].process; }
  support::RedisServer& redis() { return *redis_; }
  support::SentinelSet& sentinels() { return *sentinels_; }
  support::ClusterSet& cluster() { return *cluster_; }
  StoreKind store() const { return options_.store; }
  std::chrono::milliseconds longest_ttl() const { return options_.longest_ttl; }
  bool until_restored() const { return options_.until_restored; }
  support::ServerClock& clock() { return clock_; }

  void StartDaemon(size_t i, size_t build = 0);
  // SIGKILL, or SIGTERM and the time that it needs.
  void KillDaemon(size_t i);
  void DrainDaemon(size_t i);
  // SIGKILL; another one comes in its place.
  void ReplaceClient(size_t i);

  // What Redis has on its disk, kept, and put in the place of what it has later. Requires: it does
  // not run, or stands still.
  void KeepData();
  void PutOldDataBack();

  std::vector<std::string> histories() const { return histories_; }

 private:
  struct Daemon {
    std::unique_ptr<support::ConnectionGate> redis;
    std::unique_ptr<support::ConnectionGate> clients;
    std::unique_ptr<support::DaemonProcess> process;
  };
  struct Client {
    std::unique_ptr<support::ChildProcess> process;
    int replaced = 0;
  };

  std::string DaemonSocket(size_t i) const;
  std::string StoreUrl(size_t i) const;
  // The longest lease that will ever be is granted before anything can be lost.
  void GrantLongestLease(size_t i);
  void StartClient(size_t i);
  void KeepLog(size_t i);
  std::string RedisData() const;

  const SceneOptions options_;
  support::Random random_;
  support::TemporaryDirectory directory_;
  support::ServerClock clock_;
  std::unique_ptr<support::RedisServer> redis_;  // Each is null but that of the store's kind.
  std::unique_ptr<support::SentinelSet> sentinels_;
  std::unique_ptr<support::ClusterSet> cluster_;
  std::vector<Daemon> daemons_;
  std::vector<Client> clients_;
  std::vector<std::string> histories_;
  int64_t began_ = 0;
};

}  // namespace lockkeeper::histories
