// SPDX-License-Identifier: Apache-2.0
#include "support/process/replicated_servers.h"

namespace lockkeeper::support {

ReplicatedServers::ReplicatedServers(size_t replicas, const std::vector<std::string>& settings) {
  std::vector<std::string> all = {"repl-diskless-sync-delay 0"};
  all.insert(all.end(), settings.begin(), settings.end());
  const auto start = [&all] {
    return std::make_unique<RedisServer>(
        RedisServerOptions{.listening = Listening::kUnixSocketAndTcp, .settings = all});
  };
  primary_ = start();
  all.push_back("replicaof 127.0.0.1 " + std::to_string(primary_->port()));
  for (size_t i = 0; i < replicas; ++i) {
    replicas_.push_back(start());
    replicas_.back()->AwaitInfo("replication", "master_link_status", "up");
    // The primary may still be sending what was written since the replica's copy was made.
    const std::string name = "slave" + std::to_string(i);
    while (primary_->Info("replication", name).find("state=online") == std::string::npos) {
    }
  }
}

}  // namespace lockkeeper::support
