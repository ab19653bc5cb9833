// SPDX-License-Identifier: Apache-2.0
#include "histories/failovers.h"

#include <algorithm>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>

#include "redis/cluster/slot.h"
#include "redis/format/key_layout.h"
#include "support/process/redis_connection.h"
#include "support/rpc/lock_client.h"
#include "support/rpc/lock_requests.h"
#include "text/stable_hash.h"

namespace lockkeeper::histories {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kPatience{60'000};
constexpr milliseconds kBetweenTries{20};
constexpr milliseconds kBetweenGrants{50};
constexpr milliseconds kCallLimit{1'000};
// Leases that the next primary has not got, and the time that it takes if none can be granted.
constexpr size_t kLostLeases = 50;
constexpr milliseconds kLostWrites{1'000};

// docs/operating/sentinel.md and cluster.md: the quarantine is the longest ttl and 1 %, and so
// long.
constexpr milliseconds kIsolationBehindSentinels{6'000};
constexpr milliseconds kIsolationBeyondNodeTimeout{2'000};
// Until daemons have noticed: they ask once a second who is the primary, and wait for a second for
// the answers of one that stands still.
constexpr milliseconds kNotice{1'500};
// The longest time between the sending of two extends of the holder, if all are answered.
constexpr milliseconds kBetweenExtends{500};

milliseconds Since(Clock::time_point began) {
  return std::chrono::duration_cast<milliseconds>(Clock::now() - began);
}

std::string InMillis(milliseconds time) { return std::to_string(time.count()) + " ms"; }

// Acquires a lock at the daemon until it is granted.
void AwaitGrant(const std::string& address, const std::string& name) {
  const auto until = Clock::now() + kPatience;
  support::LockClient client(address, kCallLimit);
  const auto request = support::AcquireOf(name, support::NewLeaseId(), kCallLimit);
  for (auto answer = client.Acquire(request); !answer.response.has_lease();
       answer = client.Acquire(request)) {
    if (Clock::now() > until) {
      throw std::runtime_error("nothing is granted after a failover: " +
                               answer.status.error_message());
    }
    std::this_thread::sleep_for(kBetweenGrants);
  }
}

class SentinelFailovers final : public Failovers {
 public:
  SentinelFailovers(Scene& scene, Journal& journal, size_t confirming, uint64_t seed)
      : Failovers(scene, journal, confirming, seed), sentinels_(scene.sentinels()) {}

 private:
  size_t Replicas() const override { return sentinels_.servers() - 1; }
  milliseconds Isolation() const override { return kIsolationBehindSentinels; }

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
    sentinels_.server(primary_).CutReplicasOff();
    AwaitWritesToLose();
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
  support::RedisServer& NextPrimary() override {
    return sentinels_.server(sentinels_.PrimaryOf(0));
  }
  int64_t Epoch() const override { return sentinels_.ConfigEpoch(); }
  std::string KeyOf(const std::string& lock) const override {
    return redis::KeyLayout("lk:").RecordKey(lock);
  }
  bool IsAffected(const std::string&) const override { return true; }
  std::vector<std::string> AffectedLocks(const std::string& prefix) const override {
    return {prefix};
  }

  support::SentinelSet& sentinels_;
  size_t primary_ = 0;
};

// Each time another primary of the Cluster, every second time that of the lock that is held.
class ClusterFailovers final : public Failovers {
 public:
  ClusterFailovers(Scene& scene, Journal& journal, size_t confirming, uint64_t seed)
      : Failovers(scene, journal, confirming, seed), cluster_(scene.cluster()) {}

 private:
  static size_t PartOf(const std::string& lock) {
    return text::StableHash(lock) % redis::kClusterParts;
  }
  static std::string TagOf(size_t part) { return "{" + redis::TagOfPart(part) + "}"; }
  static uint16_t SlotOf(size_t part) { return redis::SlotOf(TagOf(part)); }

  size_t Replicas() const override { return 1; }
  milliseconds Isolation() const override {
    return cluster_.options().node_timeout + kIsolationBeyondNodeTimeout;
  }

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
    cluster_.server(primary_).CutReplicasOff();
    AwaitWritesToLose();
    cluster_.server(primary_).Kill();
    replica.Resume();
    AwaitAnother();
    cluster_.server(primary_).Restart(support::Data::kKeep);
  }

  void Order() override {
    cluster_.server(cluster_.ReplicaOf(primary_)).Run({"CLUSTER", "FAILOVER"});
    AwaitAnother();
  }

  void AwaitAnother() { next_ = cluster_.AwaitOwnerOtherThan(primary_, slot_, primary_); }
  void AwaitInStep() override { cluster_.AwaitInStep(); }
  support::RedisServer& NextPrimary() override {
    return cluster_.server(cluster_.OwnerOf(slot_, next_));
  }
  // Not the current epoch: a server that comes back may stand for election in vain.
  int64_t Epoch() const override { return cluster_.ConfigEpoch(cluster_.OwnerOf(slot_, next_)); }
  std::string KeyOf(const std::string& lock) const override {
    return redis::KeyLayout("lk:" + TagOf(PartOf(lock))).RecordKey(lock);
  }
  bool IsAffected(const std::string& lock) const override {
    return owner_before_[PartOf(lock)] == primary_;
  }
  std::vector<std::string> AffectedLocks(const std::string& prefix) const override {
    std::vector<std::string> names;
    for (size_t part = 0; part < redis::kClusterParts; ++part) {
      if (owner_before_[part] != primary_) continue;
      int i = 0;
      while (PartOf(prefix + " " + std::to_string(i)) != part) ++i;
      names.push_back(prefix + " " + std::to_string(i));
    }
    return names;
  }

  support::ClusterSet& cluster_;
  uint16_t slot_ = 0;
  size_t primary_ = 0;
  size_t next_ = 0;
  std::vector<size_t> owner_before_;  // By part.
};

}  // namespace

// A way to lose a primary.
struct Failovers::Way {
  const char* fault;
  void (Failovers::*happen)();
  enum class Loses { kMaybe, kSurely } loses = Loses::kMaybe;
};

Failovers::Failovers(Scene& scene, Journal& journal, size_t confirming, uint64_t seed)
    : scene_(scene),
      journal_(journal),
      confirming_(confirming),
      random_(seed),
      holder_(scene, scene.longest_ttl()),
      told_(scene) {}

FailoverReport Failovers::Run(int count, const std::function<void(const Failover&)>& on_each) {
  static constexpr Way kWays[] = {
      {"kill the primary", &Failovers::KillPrimary},
      // It goes on as a primary for a moment once it runs again.
      {"stop the primary", &Failovers::StopPrimary},
      // A replica stands still while the primary, and another replica if there is one, confirm
      // writes. Then these die, and the first becomes the primary.
      {"lose what the next primary has not got", &Failovers::LoseWrites, Way::Loses::kSurely},
      {"order a failover", &Failovers::Order}};
  holder_.AwaitAnswer();
  for (int i = 0; i < count; ++i) {
    Choose();
    const Way& way = random_.Pick(kWays);
    report_.failovers.push_back(FailOver(way));
    on_each(report_.failovers.back());
    Judge(way, report_.failovers.back());
    AwaitInStep();
  }
  const bool any_judged =
      std::ranges::any_of(report_.failovers, [](const Failover& one) { return !one.again; });
  if (!any_judged) report_.problems.emplace_back("no failover came once, so that it shows nothing");
  holder_.Stop();
  if (!holder_.problem().empty()) {
    report_.problems.push_back("the lease that is extended all the time: " + holder_.problem());
  }
  return report_;
}

Failover Failovers::FailOver(const Way& way) {
  Failover failover{.fault = way.fault};
  const int ended_before = holder_.ended();
  journal_.Fault(failover.fault, true);
  struck_ = Clock::now();
  (this->*way.happen)();
  const int64_t epoch = Epoch();
  AwaitWrite(0);
  failover.until_written = Since(struck_);
  auto until_held = std::async(std::launch::async, [this] {
    holder_.AwaitAnswer();
    return Since(struck_);
  });
  AwaitWrite(confirming_);
  failover.until_confirmed = Since(struck_);
  failover.until_held = until_held.get();
  AwaitGrants("granted again " + std::to_string(report_.failovers.size()));
  failover.until_granted = Since(struck_);
  holder_.AwaitAnswer();  // If its lease has ended, it knows by now.
  failover.kept = holder_.ended() == ended_before;
  failover.again = Epoch() != epoch;
  const milliseconds quarantine =
      scene_.until_restored() ? milliseconds(0)
                              : scene_.longest_ttl() + scene_.longest_ttl() / 100 + Isolation();
  failover.bound =
      std::max(failover.until_written + quarantine, failover.until_confirmed) + kNotice;
  CountLost(failover);
  return failover;
}

void Failovers::AwaitWritesToLose() {
  if (confirming_ == Replicas()) {
    std::this_thread::sleep_for(kLostWrites);  // None is granted.
  } else {
    told_.AwaitMore(kLostLeases);
  }
  struck_ = Clock::now();
}

void Failovers::AwaitWrite(size_t replicas) {
  const auto until = Clock::now() + kPatience;
  const std::string key = "written:" + KeyOf(AffectedLocks("any").front());
  for (;;) {
    support::RedisConnection connection(NextPrimary().socket_path());
    const redis::Reply written = connection.Run({"SET", key, "", "PX", "1"});
    if (written.text == "OK") {
      const redis::Reply confirmed =
          connection.Run({"WAIT", std::to_string(replicas), std::to_string(kCallLimit.count())});
      if (confirmed.integer >= static_cast<int64_t>(replicas)) return;
    }
    if (Clock::now() > until) {
      throw std::runtime_error("the next primary takes no writes: " + written.text);
    }
    std::this_thread::sleep_for(kBetweenTries);
  }
}

// All at once: on a busy machine calls one after another would take longer than daemons.
void Failovers::AwaitGrants(const std::string& prefix) {
  std::vector<std::future<void>> granted;
  for (size_t i = 0; i < scene_.daemons(); ++i) {
    const std::string address = scene_.daemon_gate(i).address();
    for (const std::string& name : AffectedLocks(prefix + " by " + std::to_string(i))) {
      granted.push_back(
          std::async(std::launch::async, [address, name] { AwaitGrant(address, name); }));
    }
  }
  for (std::future<void>& grant : granted) grant.get();
}

void Failovers::CountLost(Failover& failover) {
  support::RedisConnection connection(NextPrimary().socket_path());
  for (const std::string& lock : told_.Take()) {
    if (!IsAffected(lock)) continue;
    ++failover.told;
    if (connection.Run({"EXISTS", KeyOf(lock)}).integer == 0) ++failover.lost;
  }
}

void Failovers::Judge(const Way& way, const Failover& failover) {
  const auto note = [&](const std::string& problem) {
    report_.problems.push_back("failover " + std::to_string(report_.failovers.size()) + " (" +
                               failover.fault + "): " + problem);
  };
  const bool all_confirm = confirming_ == Replicas();
  if (all_confirm && failover.lost > 0) {
    note(std::to_string(failover.lost) + " leases are lost that all replicas had confirmed");
  }
  if (failover.again) return;
  if (failover.until_granted > failover.bound) {
    note("new locks after " + InMillis(failover.until_granted) + ", more than " +
         InMillis(failover.bound));
  }
  // Until then the primary before may end it.
  const milliseconds until_extended =
      failover.until_written + Isolation() + kNotice + kBetweenExtends;
  if (!failover.kept && !IsAffected(Holder::kLock)) {
    note("a lease ended whose primary was not lost");
  } else if (!failover.kept && until_extended < scene_.longest_ttl()) {
    note("a lease of " + InMillis(scene_.longest_ttl()) +
         " ended, though writes were taken after " + InMillis(failover.until_written));
  }
  if (failover.kept && failover.until_held > until_extended) {
    note("a lease was extended after " + InMillis(failover.until_held) + ", more than " +
         InMillis(until_extended));
  }
  if (scene_.until_restored()) return;  // What was lost has been restored by now.
  if (!all_confirm && way.loses == Way::Loses::kSurely && failover.lost == 0) {
    note("nothing was lost, so that it shows nothing");
  }
}

std::unique_ptr<Failovers> MakeFailovers(Scene& scene, Journal& journal, size_t confirming,
                                         uint64_t seed) {
  if (scene.store() == StoreKind::kCluster) {
    return std::make_unique<ClusterFailovers>(scene, journal, confirming, seed);
  }
  return std::make_unique<SentinelFailovers>(scene, journal, confirming, seed);
}

}  // namespace lockkeeper::histories
