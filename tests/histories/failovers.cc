// SPDX-License-Identifier: Apache-2.0
#include "histories/failovers.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <stdexcept>
#include <thread>
#include <utility>

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
constexpr milliseconds kBetweenExtends{200};
constexpr milliseconds kCallLimit{1'000};
// What a client takes off: 1 % and 50 ms.
constexpr int kMarginShare = 100;
constexpr milliseconds kMargin{50};
// Writes that the next primary has not got.
constexpr milliseconds kLostWrites{1'000};

// Holds one lock by extends, at any daemon that answers, and proves the lease again after a loss.
// If no daemon can extend it before its end, it is over, and the holder begins anew.
class Holder {
 public:
  static constexpr const char* kLock = "held through failovers";

  explicit Holder(Scene& scene) : ttl_(scene.longest_ttl()) {
    for (size_t i = 0; i < scene.daemons(); ++i) {
      daemons_.emplace_back(scene.daemon_gate(i).address(), kCallLimit);
    }
    thread_ = std::thread([this] { Hold(); });
  }
  ~Holder() { Stop(); }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  // Ends leases that began before, too.
  void Stop() {
    stopping_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // After Stop(): leases that came to their end because no daemon could extend them, and why one
  // was lost before its end. Empty: none was.
  int ended() const { return ended_; }
  const std::string& problem() const { return problem_; }

 private:
  void Hold() {
    for (size_t i = 0; !stopping_ && problem_.empty(); i = (i + 1) % daemons_.size()) {
      const bool done = token_ == 0 ? Acquire(daemons_[i]) : Extend(daemons_[i]);
      std::this_thread::sleep_for(done ? kBetweenExtends : kBetweenTries);
    }
  }

  bool Acquire(support::LockClient& daemon) {
    const auto sent = Clock::now();
    const auto answer = daemon.Acquire(support::AcquireOf(kLock, id_, ttl_));
    if (!answer.response.has_lease()) return false;
    const int64_t token = answer.response.lease().fencing_token();
    if (token <= last_token_) problem_ = "a token fell";
    token_ = last_token_ = token;
    Take(answer.response.lease(), sent);
    return true;
  }

  bool Extend(support::LockClient& daemon) {
    auto request = support::ExtendOf(kLock, id_);
    request.set_fencing_token(token_);
    request.set_reassertion(proof_);
    const auto sent = Clock::now();
    const auto answer = daemon.Extend(request);
    if (answer.ok()) {
      if (answer.response.lease().fencing_token() != token_) problem_ = "it has another token";
      Take(answer.response.lease(), sent);
      return true;
    }
    if (answer.reason != "LEASE_LOST") return false;
    if (Clock::now() < end_) problem_ = answer.status.error_message();
    ++ended_;
    id_ = support::NewLeaseId();
    token_ = 0;
    return false;
  }

  void Take(const v1::Lease& lease, Clock::time_point sent) {
    proof_ = lease.reassertion();
    const auto left = milliseconds(
        google::protobuf::util::TimeUtil::DurationToMilliseconds(lease.remaining_ttl()));
    end_ = std::max(end_, sent + left - left / kMarginShare - kMargin);
  }

  const milliseconds ttl_;
  std::string id_ = support::NewLeaseId();
  std::deque<support::LockClient> daemons_;
  int64_t token_ = 0;  // 0: it has no lease.
  int64_t last_token_ = 0;
  std::string proof_;
  Clock::time_point end_;  // As a client counts it.
  int ended_ = 0;
  std::string problem_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

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
  Holder holder(scene_);
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
