// SPDX-License-Identifier: Apache-2.0
#include "histories/failovers.h"

#include <stdexcept>
#include <thread>
#include <utility>

#include "histories/holder.h"
#include "redis/cluster/slot.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "text/stable_hash.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{60'000};
constexpr milliseconds kBetweenTries{20};
constexpr milliseconds kCallLimit{1'000};
// Writes that the next primary has not got.
constexpr milliseconds kLostWrites{1'000};

class SentinelFailovers final : public Failovers {
 public:
  SentinelFailovers(Scene& scene, Journal& journal, uint64_t seed)
      : Failovers(scene, journal, seed), sentinels_(scene.sentinels()) {}

 private:
  void Choose() override { primary_ = sentinels_.PrimaryOf(0); }

  void KillPrimary() override {
    sentinels_.server(primary_).Kill();
    sentinels_.AwaitPrimaryOtherThan(primary_);
    sentinels_.server(primary_).Restart(support::Data::kKeep);
  }

  void StopPrimary() override {
    sentinels_.server(primary_).Pause();
    sentinels_.AwaitPrimaryOtherThan(primary_);
    sentinels_.server(primary_).Resume();
  }

  void LoseWrites() override {
    const size_t late = (primary_ + 1) % sentinels_.servers();
    const size_t other = (primary_ + 2) % sentinels_.servers();
    sentinels_.server(late).Pause();
    std::this_thread::sleep_for(kLostWrites);
    sentinels_.server(primary_).Kill();
    sentinels_.server(other).Kill();
    sentinels_.server(late).Resume();
    sentinels_.AwaitPrimaryOtherThan(primary_);
    // Otherwise the primary refuses writes for the 10 s until the Sentinels have told it its place.
    sentinels_.server(other).Restart(
        support::Data::kKeep,
        {"replicaof 127.0.0.1 " + std::to_string(sentinels_.server(late).port())});
    sentinels_.server(primary_).Restart(support::Data::kKeep);
  }

  void Order() override { sentinels_.FailOver(); }
  void AwaitInStep() override { sentinels_.AwaitInStep(); }
  bool IsAffected(const std::string&) const override { return true; }

  support::SentinelSet& sentinels_;
  size_t primary_ = 0;
};

// Each time another primary of the Cluster, every second time that of the lock that is held.
class ClusterFailovers final : public Failovers {
 public:
  ClusterFailovers(Scene& scene, Journal& journal, uint64_t seed)
      : Failovers(scene, journal, seed), cluster_(scene.cluster()) {}

 private:
  static size_t PartOf(const std::string& lock) {
    return text::StableHash(lock) % redis::kClusterParts;
  }
  static uint16_t SlotOf(size_t part) { return redis::SlotOf("{" + redis::TagOfPart(part) + "}"); }

  void Choose() override {
    const size_t any = random().Below(redis::kClusterParts);
    slot_ = SlotOf(random().OneIn(2) ? PartOf(Holder::kLock) : any);
    primary_ = cluster_.OwnerOf(slot_, 0);
    owner_before_.clear();
    for (size_t part = 0; part < redis::kClusterParts; ++part) {
      owner_before_.push_back(cluster_.OwnerOf(SlotOf(part), 0));
    }
  }

  void KillPrimary() override {
    cluster_.server(primary_).Kill();
    AwaitAnother();
    cluster_.server(primary_).Restart(support::Data::kKeep);
  }

  void StopPrimary() override {
    cluster_.server(primary_).Pause();
    AwaitAnother();
    cluster_.server(primary_).Resume();
  }

  void LoseWrites() override {
    support::RedisServer& replica = cluster_.server(cluster_.ReplicaOf(primary_));
    replica.Pause();
    std::this_thread::sleep_for(kLostWrites);
    cluster_.server(primary_).Kill();
    replica.Resume();
    AwaitAnother();
    cluster_.server(primary_).Restart(support::Data::kKeep);
  }

  void Order() override {
    cluster_.server(cluster_.ReplicaOf(primary_)).Run({"CLUSTER", "FAILOVER"});
    AwaitAnother();
  }

  void AwaitAnother() { cluster_.AwaitOwnerOtherThan(primary_, slot_, primary_); }
  void AwaitInStep() override { cluster_.AwaitInStep(); }
  bool IsAffected(const std::string& lock) const override {
    return owner_before_[PartOf(lock)] == primary_;
  }

  support::ClusterSet& cluster_;
  uint16_t slot_ = 0;
  size_t primary_ = 0;
  std::vector<size_t> owner_before_;  // By part.
};

}  // namespace

Failovers::Failovers(Scene& scene, Journal& journal, uint64_t seed)
    : scene_(scene), journal_(journal), random_(seed) {}

FailoverReport Failovers::Run(int count) {
  FailoverReport report;
  Holder holder(scene_, scene_.longest_ttl());
  for (; report.failovers < count; ++report.failovers) {
    FailOver();
    report.until_granted.push_back(AwaitGrant());
    AwaitInStep();
  }
  holder.Stop();
  report.leases_ended = holder.ended();
  report.holder_problem = holder.problem();
  return report;
}

void Failovers::FailOver() {
  Choose();
  switch (random_.Below(4)) {
    case 0:
      journal_.Fault("kill the primary", true);
      return KillPrimary();
    case 1:
      // It goes on as a primary for a moment once it runs again.
      journal_.Fault("stop the primary", true);
      return StopPrimary();
    case 2:
      // A replica stands still while the primary, and another replica if there is one, confirm
      // writes. Then these die, and the first becomes the primary.
      journal_.Fault("lose what the next primary has not got", true);
      return LoseWrites();
    default:
      journal_.Fault("order a failover", true);
      return Order();
  }
}

milliseconds Failovers::AwaitGrant() {
  const auto since = Clock::now();
  support::LockClient client(scene_.daemon_gate(0).address(), kCallLimit);
  for (;;) {
    const std::string id = support::NewLeaseId();
    if (!IsAffected("granted again " + id)) continue;
    const auto answer = client.Acquire(support::AcquireOf("granted again " + id, id, kCallLimit));
    const auto elapsed = std::chrono::duration_cast<milliseconds>(Clock::now() - since);
    if (answer.response.has_lease()) return elapsed;
    if (elapsed > kPatience) {
      throw std::runtime_error("nothing is granted after a failover: " +
                               answer.status.error_message());
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

std::unique_ptr<Failovers> MakeFailovers(Scene& scene, Journal& journal, uint64_t seed) {
  if (scene.store() == StoreKind::kCluster) {
    return std::make_unique<ClusterFailovers>(scene, journal, seed);
  }
  return std::make_unique<SentinelFailovers>(scene, journal, seed);
}

}  // namespace lockkeeper::histories
