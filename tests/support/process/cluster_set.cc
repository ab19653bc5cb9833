// SPDX-License-Identifier: Apache-2.0
#include "support/process/cluster_set.h"

#include <algorithm>
#include <stdexcept>

#include "support/process/redis_connection.h"

namespace lockkeeper::support {
namespace {

constexpr std::chrono::seconds kLimit{80};
constexpr std::chrono::milliseconds kBetweenLooks{20};
constexpr size_t kSlots = 16'384;
// A server writes its configuration to the disk once for all commands that come together.
constexpr size_t kSlotsAtATime = 128;
constexpr const char* kKeysAtATime = "10";

// Sends all, and answers their replies.
std::vector<redis::Reply> RunTogether(RedisConnection& connection,
                                      const std::vector<std::vector<std::string>>& commands) {
  for (const auto& words : commands) connection.Send({words.begin(), words.end()});
  std::vector<redis::Reply> replies;
  replies.reserve(commands.size());
  for (size_t i = 0; i < commands.size(); ++i) replies.push_back(connection.Receive());
  return replies;
}

void ExpectAllOk(RedisConnection& connection,
                 const std::vector<std::vector<std::string>>& commands) {
  for (const redis::Reply& reply : RunTogether(connection, commands)) {
    if (reply.text != "OK") throw std::runtime_error("CLUSTER SETSLOT answers " + reply.text);
  }
}

// Moves the keys of these slots to the server that listens on `port`.
void MoveKeys(RedisConnection& from, const std::vector<std::string>& slots, uint16_t port) {
  std::vector<std::vector<std::string>> questions;
  for (const std::string& slot : slots) {
    questions.push_back({"CLUSTER", "GETKEYSINSLOT", slot, kKeysAtATime});
  }
  for (;;) {
    bool any = false;
    for (const redis::Reply& keys : RunTogether(from, questions)) {
      if (keys.items.empty()) continue;
      any = true;
      std::vector<std::string> words = {"MIGRATE", "127.0.0.1", std::to_string(port), "", "0",
                                        "10000",   "KEYS"};
      for (const redis::Reply& key : keys.items) words.push_back(key.text);
      const redis::Reply moved = RunTogether(from, {words}).front();
      if (moved.text != "OK" && moved.text != "NOKEY") {
        throw std::runtime_error("MIGRATE answers " + moved.text);
      }
    }
    if (!any) return;
  }
}

}  // namespace

ClusterSet::ClusterSet(ClusterSetOptions options) : options_(std::move(options)) {
  std::vector<std::string> settings = options_.settings;
  settings.push_back("cluster-node-timeout " + std::to_string(options_.node_timeout.count()));
  settings.emplace_back("repl-diskless-sync-delay 0");
  if (options_.listening == Listening::kUnixSocketAndTls) {
    settings.emplace_back("tls-cluster yes");
    settings.emplace_back("tls-replication yes");
  }
  const size_t all = options_.primaries * (1 + options_.replicas);
  for (size_t i = 0; i < all; ++i) {
    servers_.push_back(
        std::make_unique<RedisServer>(RedisServerOptions{.in_cluster = true,
                                                         .listening = options_.listening,
                                                         .durability = options_.durability,
                                                         .settings = settings}));
    ExpectOk(i, {"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)});
    if (i >= options_.primaries) continue;
    ExpectOk(i, {"CLUSTER", "ADDSLOTSRANGE", std::to_string(kSlots * i / options_.primaries),
                 std::to_string(kSlots * (i + 1) / options_.primaries - 1)});
  }
  for (size_t i = 1; i < all; ++i) {
    ExpectOk(0, {"CLUSTER", "MEET", "127.0.0.1", std::to_string(servers_[i]->port()),
                 std::to_string(servers_[i]->cluster_port())});
  }
  const auto all_are_in_order = [this] {
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (!IsInOrder(i)) return false;
    }
    return true;
  };
  Await("all servers know each other", all_are_in_order);
  for (size_t i = options_.primaries; i < all; ++i) {
    ExpectOk(i, {"CLUSTER", "REPLICATE", IdOf(i % options_.primaries)});
  }
  for (size_t i = options_.primaries; i < all; ++i) {
    servers_[i]->AwaitInfo("replication", "master_link_status", "up");
  }
  Await("all servers know the replicas", [&] {
    for (const auto& server : servers_) {
      const std::string nodes = server->Run({"CLUSTER", "NODES"}).text;
      size_t replicas = 0;
      for (size_t at = nodes.find("slave"); at != std::string::npos;
           at = nodes.find("slave", at + 1))
        ++replicas;
      if (replicas != all - options_.primaries) return false;
    }
    return all_are_in_order();
  });
}

std::string ClusterSet::url() const {
  const bool tls = options_.listening == Listening::kUnixSocketAndTls;
  return std::string(tls ? "rediss" : "redis") +
         "+cluster://127.0.0.1:" + std::to_string(servers_[0]->port());
}

bool ClusterSet::IsInOrder(size_t server) const {
  const std::string info = servers_[server]->Run({"CLUSTER", "INFO"}).text;
  const std::string known = "cluster_known_nodes:" + std::to_string(servers_.size());
  return info.find("cluster_state:ok") != std::string::npos &&
         info.find(known) != std::string::npos;
}

std::string ClusterSet::IdOf(size_t server) const {
  return servers_[server]->Run({"CLUSTER", "MYID"}).text;
}

size_t ClusterSet::OwnerOf(uint16_t slot, size_t asked) const {
  for (const redis::Reply& range : servers_[asked]->Run({"CLUSTER", "SLOTS"}).items) {
    if (slot < range.items[0].integer || slot > range.items[1].integer) continue;
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (servers_[i]->port() == range.items[2].items[1].integer) return i;
    }
  }
  throw std::runtime_error("nobody serves slot " + std::to_string(slot));
}

void ClusterSet::MoveSlot(uint16_t slot, size_t to, const std::function<void()>& between) {
  const size_t from = OwnerOf(slot, to);
  const std::string number = std::to_string(slot);
  ExpectOk(to, {"CLUSTER", "SETSLOT", number, "IMPORTING", IdOf(from)});
  ExpectOk(from, {"CLUSTER", "SETSLOT", number, "MIGRATING", IdOf(to)});
  for (;;) {
    const redis::Reply keys = servers_[from]->Run({"CLUSTER", "GETKEYSINSLOT", number, "1"});
    if (keys.items.empty()) break;
    const redis::Reply moved =
        servers_[from]->Run({"MIGRATE", "127.0.0.1", std::to_string(servers_[to]->port()),
                             keys.items[0].text, "0", "10000"});
    if (moved.text != "OK" && moved.text != "NOKEY") {
      throw std::runtime_error("MIGRATE answers " + moved.text);
    }
    between();
  }
  ExpectOk(to, {"CLUSTER", "SETSLOT", number, "NODE", IdOf(to)});
  ExpectOk(from, {"CLUSTER", "SETSLOT", number, "NODE", IdOf(to)});
}

void ClusterSet::MoveSlots(const std::vector<uint16_t>& slots, size_t from, size_t to) {
  RedisConnection at_from(servers_[from]->socket_path());
  RedisConnection at_to(servers_[to]->socket_path());
  const std::string from_id = IdOf(from);
  const std::string to_id = IdOf(to);
  for (size_t begin = 0; begin < slots.size(); begin += kSlotsAtATime) {
    std::vector<std::string> some;
    for (size_t i = begin; i < std::min(begin + kSlotsAtATime, slots.size()); ++i) {
      some.push_back(std::to_string(slots[i]));
    }
    const auto set = [&some](const std::string& what, const std::string& id) {
      std::vector<std::vector<std::string>> commands;
      for (const std::string& slot : some) {
        commands.push_back({"CLUSTER", "SETSLOT", slot, what, id});
      }
      return commands;
    };
    ExpectAllOk(at_to, set("IMPORTING", from_id));
    ExpectAllOk(at_from, set("MIGRATING", to_id));
    MoveKeys(at_from, some, servers_[to]->port());
    ExpectAllOk(at_to, set("NODE", to_id));
    ExpectAllOk(at_from, set("NODE", to_id));
  }
}

std::vector<uint16_t> ClusterSet::SlotsOf(size_t primary) const {
  std::vector<uint16_t> slots;
  for (const redis::Reply& range : servers_[primary]->Run({"CLUSTER", "SLOTS"}).items) {
    if (range.items[2].items[1].integer != servers_[primary]->port()) continue;
    for (int64_t slot = range.items[0].integer; slot <= range.items[1].integer; ++slot) {
      slots.push_back(static_cast<uint16_t>(slot));
    }
  }
  return slots;
}

size_t ClusterSet::ReplicaOf(size_t primary) const {
  for (size_t i = 0; i < servers_.size(); ++i) {
    const redis::Reply role = servers_[i]->Run({"ROLE"});
    const bool is_it = role.items.size() > 2 && role.items[0].text == "slave" &&
                       role.items[2].integer == servers_[primary]->port();
    if (is_it) return i;
  }
  throw std::runtime_error("a primary has no replica");
}

int64_t ClusterSet::ConfigEpoch(size_t primary) const {
  const std::string field = "cluster_my_epoch:";
  const std::string info = servers_[primary]->Run({"CLUSTER", "INFO"}).text;
  return std::stoll(info.substr(info.find(field) + field.size()));
}

void ClusterSet::AwaitInStep() const {
  Await("all servers agree, and their replicas are in step", [this] {
    size_t primaries = 0;
    for (size_t i = 0; i < servers_.size(); ++i) {
      const RedisServer& server = *servers_[i];
      if (!IsInOrder(i)) return false;
      const bool is_primary = server.Info("replication", "role") == "master";
      primaries += is_primary ? 1 : 0;
      const std::string replicas = std::to_string(options_.replicas);
      if (is_primary ? server.Info("replication", "connected_slaves") != replicas
                     : server.Info("replication", "master_link_status") != "up") {
        return false;
      }
    }
    return primaries == options_.primaries;
  });
}

size_t ClusterSet::AwaitOwnerOtherThan(size_t before, uint16_t slot, size_t except) const {
  size_t owner = before;
  Await("another server serves the slot", [&] {
    for (size_t i = 0; i < servers_.size(); ++i) {
      if (i == except) continue;
      owner = OwnerOf(slot, i);
      if (owner == before) return false;
    }
    return true;
  });
  return owner;
}

void ClusterSet::Await(const std::string& what, const std::function<bool()>& is_so) const {
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("never: " + what);
    servers_.back()->EndsWithin(kBetweenLooks);  // At once if a test has killed it.
  }
}

void ClusterSet::ExpectOk(size_t server, const std::vector<std::string>& words) const {
  const redis::Reply reply = servers_[server]->Run(words);
  if (reply.text == "OK") return;
  throw std::runtime_error(words[1] + " answers " + reply.text);
}

}  // namespace lockkeeper::support
