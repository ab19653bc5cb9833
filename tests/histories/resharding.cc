// SPDX-License-Identifier: Apache-2.0
#include "histories/resharding.h"

#include <stdexcept>
#include <thread>

#include "redis/cluster/slot.h"
#include "support/process/cluster_set.h"
#include "support/rpc/lock_client.h"
#include "text/stable_hash.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kCallers = 6;
constexpr seconds kHoldersTtl{5};
constexpr seconds kMeasuredBefore{5};
// To a server that has just started a slot moves as in a failover.
constexpr int kOldSeconds = 8;
constexpr milliseconds kBetweenLooks{200};

std::string LockOfPart(size_t part) {
  for (int i = 0;; ++i) {
    std::string name = "held " + std::to_string(i);
    if (text::StableHash(name) % redis::kClusterParts == part) return name;
  }
}

}  // namespace

Resharding::Resharding(Scene& scene) : scene_(scene), load_(scene, kCallers) {
  for (size_t part = 0; part < redis::kClusterParts; ++part) {
    holders_.push_back(std::make_unique<Holder>(scene, kHoldersTtl, LockOfPart(part)));
  }
}

ReshardingReport Resharding::Run(int times) {
  ReshardingReport report;
  AwaitTheyAreOld();
  for (const auto& holder : holders_) holder->AwaitAnswer();
  load_.Report();
  std::this_thread::sleep_for(kMeasuredBefore);
  report.before = load_.Report();
  const auto began = Clock::now();
  for (int i = 0; i < times; ++i) {
    for (const size_t to : {2, 0}) report.slots += MoveAllTo(to);
  }
  report.during = load_.Report();
  report.elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - began);
  for (size_t part = 0; part < holders_.size(); ++part) {
    Holder& holder = *holders_[part];
    holder.AwaitAnswer();
    holder.Stop();
    const std::string who = "the lease of part " + std::to_string(part);
    if (!holder.problem().empty()) report.problems.push_back(who + ": " + holder.problem());
    if (holder.ended() > 0) report.problems.push_back(who + " was not extended in time");
  }
  if (report.during.p99 >= kReshardingP99Max) report.problems.emplace_back("p99 is too long");
  for (const auto& [failure, count] : report.during.failures) {
    report.problems.push_back(std::to_string(count) + " calls failed: " + failure);
  }
  CheckEpochs(report);
  return report;
}

void Resharding::AwaitTheyAreOld() {
  support::ClusterSet& cluster = scene_.cluster();
  for (size_t i = 0; i < cluster.servers(); ++i) {
    while (std::stoi(cluster.server(i).Info("server", "uptime_in_seconds")) < kOldSeconds) {
      std::this_thread::sleep_for(kBetweenLooks);
    }
  }
}

size_t Resharding::MoveAllTo(size_t primary) {
  support::ClusterSet& cluster = scene_.cluster();
  size_t moved = 0;
  for (size_t from = 0; from < cluster.options().primaries; ++from) {
    if (from == primary) continue;
    const std::vector<uint16_t> slots = cluster.SlotsOf(from);
    cluster.MoveSlots(slots, from, primary);
    moved += slots.size();
  }
  if (cluster.SlotsOf(primary).size() != redis::kSlots) {
    throw std::runtime_error("not all slots have moved");
  }
  return moved;
}

void Resharding::CheckEpochs(ReshardingReport& report) {
  for (size_t i = 0; i < scene_.daemons(); ++i) {
    support::LockClient client(scene_.daemon_gate(i).address());
    const int64_t epoch = client.GetServerInfo().response.store().epoch();
    if (epoch == static_cast<int64_t>(redis::kClusterParts)) continue;
    report.problems.push_back("daemon " + std::to_string(i) + " suspects a loss: the epoch is " +
                              std::to_string(epoch));
  }
}

}  // namespace lockkeeper::histories
