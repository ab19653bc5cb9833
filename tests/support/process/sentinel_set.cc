// SPDX-License-Identifier: Apache-2.0
#include "support/process/sentinel_set.h"

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <thread>

namespace lockkeeper::support {
namespace {

constexpr std::chrono::seconds kLimit{80};
constexpr std::chrono::milliseconds kBetweenLooks{50};

std::vector<std::string> Joined(std::vector<std::string> lines,
                                const std::vector<std::string>& more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

}  // namespace

SentinelSet::SentinelSet(SentinelSetOptions options) : options_(std::move(options)) {
  const bool tls = options_.listening == Listening::kUnixSocketAndTls;
  for (size_t i = 0; i <= options_.replicas; ++i) {
    std::vector<std::string> settings = {"min-replicas-to-write 1", "min-replicas-max-lag 3",
                                         "repl-diskless-sync-delay 0"};
    if (tls) settings.emplace_back("tls-replication yes");
    if (i > 0) settings.push_back("replicaof 127.0.0.1 " + std::to_string(servers_[0]->port()));
    servers_.push_back(std::make_unique<RedisServer>(
        RedisServerOptions{.listening = options_.listening,
                           .durability = Durability::kDiskAlways,
                           .settings = Joined(std::move(settings), options_.server_settings),
                           .environment = options_.environment}));
  }
  const std::string service(kService);
  for (size_t i = 0; i < options_.sentinels; ++i) {
    // A majority of all.
    const std::string quorum = std::to_string(options_.sentinels / 2 + 1);
    std::vector<std::string> settings = {"sentinel monitor " + service + " 127.0.0.1 " +
                                             std::to_string(servers_[0]->port()) + " " + quorum,
                                         "sentinel down-after-milliseconds " + service + " " +
                                             std::to_string(options_.down_after.count()),
                                         "sentinel failover-timeout " + service + " 5000"};
    if (tls) settings.emplace_back("tls-replication yes");
    sentinels_.push_back(std::make_unique<RedisServer>(
        RedisServerOptions{.sentinel = true,
                           .listening = options_.listening,
                           .settings = Joined(std::move(settings), options_.sentinel_settings)}));
  }
  AwaitInStep();
}

std::string SentinelSet::url() const {
  std::string url = options_.listening == Listening::kUnixSocketAndTls ? "rediss+sentinel://"
                                                                       : "redis+sentinel://";
  for (const auto& sentinel : sentinels_) {
    url += "127.0.0.1:" + std::to_string(sentinel->port()) + ",";
  }
  url.back() = '/';
  return url + kService;
}

size_t SentinelSet::PrimaryOf(size_t sentinel) const {
  const redis::Reply reply =
      sentinels_[sentinel]->Run({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", kService});
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (reply.items.size() == 2 && reply.items[1].text == std::to_string(servers_[i]->port())) {
      return i;
    }
  }
  throw std::runtime_error("a Sentinel names an unknown primary");
}

std::string SentinelSet::StateOf(size_t sentinel, const std::string& field) const {
  const redis::Reply reply = sentinels_[sentinel]->Run({"SENTINEL", "MASTER", kService});
  for (size_t i = 0; i + 1 < reply.items.size(); i += 2) {
    if (reply.items[i].text == field) return reply.items[i + 1].text;
  }
  return "";
}

int64_t SentinelSet::ConfigEpoch() const {
  int64_t epoch = 0;
  for (size_t i = 0; i < sentinels_.size(); ++i) {
    epoch = std::max<int64_t>(epoch, std::stoll(StateOf(i, "config-epoch")));
  }
  return epoch;
}

void SentinelSet::Await(const std::string& what, const std::function<bool()>& is_so) const {
  const auto until = std::chrono::steady_clock::now() + kLimit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("never: " + what);
    if (sentinels_[0]->EndsWithin(kBetweenLooks)) throw std::runtime_error("a Sentinel ended");
  }
}

bool SentinelSet::IsInStep() const {
  const size_t primary = PrimaryOf(0);
  for (size_t i = 0; i < sentinels_.size(); ++i) {
    if (PrimaryOf(i) != primary || StateOf(i, "flags") != "master" ||
        StateOf(i, "num-slaves") != std::to_string(options_.replicas) ||
        StateOf(i, "num-other-sentinels") != std::to_string(sentinels_.size() - 1)) {
      return false;
    }
  }
  const redis::Reply role = servers_[primary]->Run({"ROLE"});
  if (role.items.size() != 3 || role.items[0].text != "master" ||
      role.items[2].items.size() != options_.replicas) {
    return false;
  }
  for (size_t i = 0; i < servers_.size(); ++i) {
    if (i != primary && servers_[i]->Info("replication", "master_link_status") != "up")
      return false;
  }
  return true;
}

void SentinelSet::AwaitInStep() const {
  Await("the servers are in step, and the Sentinels know them", [this] { return IsInStep(); });
}

size_t SentinelSet::AwaitPrimaryOtherThan(size_t before) const {
  size_t primary = before;
  Await("the Sentinels agree on another primary", [&] {
    primary = PrimaryOf(0);
    for (size_t i = 1; i < sentinels_.size(); ++i) {
      if (PrimaryOf(i) != primary) return false;
    }
    return primary != before;
  });
  return primary;
}

size_t SentinelSet::FailOver() {
  const size_t before = PrimaryOf(0);
  // The order is refused while a failover is under way, and until its replicas are known to be
  // good. It is aborted if another Sentinel, which takes the chosen server for a primary of before,
  // makes it a replica again.
  Await("a Sentinel fails over", [&] {
    if (PrimaryOf(0) == before) sentinels_[0]->Run({"SENTINEL", "FAILOVER", kService});
    return PrimaryOf(0) != before;
  });
  return AwaitPrimaryOtherThan(before);
}

}  // namespace lockkeeper::support
