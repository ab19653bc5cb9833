// SPDX-License-Identifier: Apache-2.0
//
// Daemons on a real Redis Cluster: locks on all primaries, slots that move under load, a primary
// that fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "integration/daemon/fixture.h"
#include "redis/cluster/slot.h"
#include "support/process/cluster_set.h"
#include "support/rpc/lock_requests.h"
#include "text/stable_hash.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using support::AcquireOf;
using support::ClusterSet;
using support::LockClient;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kStoreUnusable = 69;

class ClusterDaemonTest : public DaemonTest {
 protected:
  static std::unique_ptr<support::DaemonProcess> On(const ClusterSet& cluster,
                                                    const Environment& environment = {}) {
    return Start({"--redis", cluster.url()}, environment);
  }

  static std::string NameOf(int i) { return "lock " + std::to_string(i); }

  static uint16_t SlotOfPart(size_t part) {
    return redis::SlotOf("{" + redis::TagOfPart(part) + "}");
  }

  // Names of new locks, one for each part of the store that server `primary` serves.
  static std::vector<std::string> NamesAt(const ClusterSet& cluster, size_t primary,
                                          const std::string& prefix) {
    std::vector<std::string> names;
    for (size_t part = 0; part < redis::kClusterParts; ++part) {
      if (cluster.OwnerOf(SlotOfPart(part), primary) != primary) continue;
      std::string name;
      for (int i = 0; name.empty() || PartOf(name) != part; ++i) {
        name = prefix + std::to_string(i);
      }
      names.push_back(name);
    }
    return names;
  }
  static size_t PartOf(const std::string& lock) {
    return text::StableHash(lock) % redis::kClusterParts;
  }

  // Waits until the server says `state` of the Cluster, "ok" or "fail".
  static void AwaitState(const support::RedisServer& server, const std::string& state) {
    while (server.Run({"CLUSTER", "INFO"}).text.find("cluster_state:" + state) ==
           std::string::npos) {
      std::this_thread::yield();
    }
  }

  // The answer to an acquire, once it is refused.
  static support::Answer<v1::AcquireResponse> AwaitRefusal(LockClient& client,
                                                           const std::string& name) {
    for (;;) {
      const std::string id = support::NewLeaseId();
      const auto answer = client.Acquire(AcquireOf(name, id));
      if (!answer.ok()) return answer;
      client.Release(support::ReleaseOf(name, id));
    }
  }

  // Tries until it is granted.
  static v1::Lease Acquire(LockClient& client, const std::string& name) {
    for (;;) {
      const auto granted = client.Acquire(AcquireOf(name));
      if (granted.response.has_lease()) return granted.response.lease();
    }
  }

  // The leases of so many locks, of NameOf(0) and on.
  static std::vector<v1::Lease> AcquireMany(LockClient& client, int count) {
    std::vector<v1::Lease> held;
    held.reserve(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i) held.push_back(Acquire(client, NameOf(i)));
    return held;
  }
};

TEST_F(ClusterDaemonTest, LocksAreOnAllPrimaries) {
  ClusterSet cluster;
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  std::set<std::string> names;
  for (int i = 0; i < 60; ++i) {
    Acquire(client, NameOf(i));
    names.insert(NameOf(i));
  }

  for (size_t i = 0; i < cluster.servers(); ++i) {
    EXPECT_GT(cluster.server(i).Run({"DBSIZE"}).integer, 8) << "more than its markers";
  }
  std::set<std::string> listed;
  std::string page;
  do {
    admin::v1::ListLocksRequest request;
    request.set_page_size(7);
    request.set_page_token(page);
    const auto answer = client.ListLocks(request);
    ASSERT_TRUE(answer.ok()) << answer.status.error_message();
    for (const admin::v1::Lock& lock : answer.response.locks()) listed.insert(lock.name());
    page = answer.response.next_page_token();
  } while (!page.empty());
  EXPECT_EQ(listed, names);
  EXPECT_THAT(client.GetServerInfo().response.store().address(),
              StartsWith("the Cluster of 127.0.0.1:"));
  const std::string metrics = Get(*daemon, "/metrics").body;
  EXPECT_THAT(metrics, AllOf(HasSubstr("lockkeeper_redis_cluster_primaries{state=\"known\"} 3"),
                             HasSubstr("lockkeeper_redis_cluster_primaries{state=\"connected\"} 3"),
                             HasSubstr("\nlockkeeper_redis_parts_moved_total 0")));
}

// A message of one daemon's script reaches the other daemon; it does not have to poll.
TEST_F(ClusterDaemonTest, WaiterAtAnotherDaemonIsServedOnEachPrimary) {
  ClusterSet cluster;
  const auto one = On(cluster);
  const auto other = On(cluster);
  LockClient holder(one->GrpcAddress());
  LockClient waiter(other->GrpcAddress());
  const admin::v1::StoreInfo store = holder.GetServerInfo().response.store();
  const admin::v1::StoreInfo of_other = waiter.GetServerInfo().response.store();
  EXPECT_EQ(of_other.id(), store.id());
  EXPECT_EQ(of_other.run_id(), store.run_id());
  EXPECT_EQ(store.id().size() + store.run_id().size(), 16U + 40U);
  for (int i = 0; i < 12; ++i) {
    const v1::Lease held = Acquire(holder, NameOf(i));
    std::atomic<bool> granted = false;
    std::thread waits([&] {
      v1::AcquireRequest request = AcquireOf(NameOf(i), support::NewLeaseId());
      request.mutable_wait_timeout()->set_seconds(60);
      granted = waiter.Acquire(request).response.has_lease();
    });
    // Of 2 keys: the record and the line.
    const auto stands = [&] {
      int64_t keys = 0;
      for (size_t s = 0; s < cluster.servers(); ++s) {
        keys += static_cast<int64_t>(
            cluster.server(s).Run({"KEYS", "lk:*{" + NameOf(i) + "}:line"}).items.size());
      }
      return keys == 1;
    };
    while (!stands()) std::this_thread::yield();
    EXPECT_TRUE(holder.Release(support::ReleaseOf(NameOf(i), held.lease_id())).ok());
    waits.join();
    EXPECT_TRUE(granted) << i;
  }
}

// Every slot of the store leaves its primary and comes back, key by key, while clients go on.
TEST_F(ClusterDaemonTest, SlotsThatMoveCostNoLockAndNoError) {
  ClusterSet cluster({.primaries = 2});
  const auto daemon = On(cluster);
  const auto other = On(cluster);
  LockClient client(daemon->GrpcAddress());
  constexpr int kHeld = 20;
  const std::vector<v1::Lease> held = AcquireMany(client, kHeld);
  // A server that has just started may have lost what was moved to it.
  for (size_t i = 0; i < cluster.servers(); ++i) {
    while (std::stoi(cluster.server(i).Info("server", "uptime_in_seconds")) < 5) {
      std::this_thread::yield();
    }
  }
  std::atomic<bool> stop = false;
  std::atomic<int> cycles = 0;
  std::vector<std::string> errors;
  std::thread load([&] {
    LockClient busy(other->GrpcAddress());
    while (!stop) {
      const std::string name = "busy " + std::to_string(cycles % 64);
      const auto granted = busy.Acquire(AcquireOf(name, support::NewLeaseId()));
      const auto released =
          busy.Release(support::ReleaseOf(name, granted.response.lease().lease_id()));
      if (!granted.ok()) errors.push_back(granted.status.error_message());
      if (!released.ok()) errors.push_back(released.status.error_message());
      ++cycles;
    }
  });

  for (const size_t to : {1, 0}) {
    for (size_t part = 0; part < redis::kClusterParts; ++part) {
      const uint16_t slot = SlotOfPart(part);
      if (cluster.OwnerOf(slot, 0) != to) cluster.MoveSlot(slot, to);
    }
  }
  const int during = cycles;
  while (cycles < during + 64) std::this_thread::yield();
  stop = true;
  load.join();

  EXPECT_THAT(errors, testing::IsEmpty());
  for (int i = 0; i < kHeld; ++i) {
    const auto extended =
        client.Extend(support::ExtendOf(NameOf(i), held[static_cast<size_t>(i)].lease_id()));
    EXPECT_TRUE(extended.ok()) << NameOf(i) << ": " << extended.status.error_message();
    const auto taken = client.Acquire(AcquireOf(NameOf(i), support::NewLeaseId()));
    EXPECT_TRUE(taken.ok() && !taken.response.has_lease()) << NameOf(i) << " was held";
  }
  const std::string metrics = Get(*daemon, "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("\nlockkeeper_store_epoch 16\n")) << "no loss was suspected";
}

TEST_F(ClusterDaemonTest, PrimaryThatFailsClosesItsLocksForAWhileAndNoOthers) {
  ClusterSet cluster({.primaries = 3, .replicas = 1, .node_timeout = milliseconds(2'000)});
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  constexpr int kLocks = 40;
  const std::vector<v1::Lease> held = AcquireMany(client, kLocks);
  const uint16_t slot = SlotOfPart(0);
  ASSERT_EQ(cluster.OwnerOf(slot, 0), 0U);

  cluster.server(0).Kill();
  cluster.AwaitOwnerOtherThan(0, slot, 0);

  // Holders prove what they have; nobody else gets it.
  int proved = 0;
  for (int i = 0; i < kLocks; ++i) {
    const v1::Lease& lease = held[static_cast<size_t>(i)];
    v1::ExtendRequest extend = support::ExtendOf(NameOf(i), lease.lease_id());
    extend.set_fencing_token(lease.fencing_token());
    extend.set_reassertion(lease.reassertion());
    auto extended = client.Extend(extend);
    const auto until = steady_clock::now() + seconds(20);
    while (!extended.ok() && steady_clock::now() < until) extended = client.Extend(extend);
    EXPECT_TRUE(extended.ok()) << NameOf(i) << ": " << extended.status.error_message();
    proved += extended.ok() ? 1 : 0;
    const auto taken = client.Acquire(AcquireOf(NameOf(i), support::NewLeaseId()));
    EXPECT_FALSE(taken.response.has_lease()) << NameOf(i);
  }
  EXPECT_EQ(proved, kLocks);
  int quarantined = 0;
  int granted = 0;
  for (int i = 0; i < kLocks; ++i) {
    const auto answer = client.Acquire(AcquireOf("new " + std::to_string(i)));
    granted += answer.response.has_lease() ? 1 : 0;
    quarantined += answer.reason == "STORE_QUARANTINED" ? 1 : 0;
  }
  EXPECT_GT(quarantined, 0) << "those of the primary that failed";
  EXPECT_GT(granted, quarantined) << "those of the others";
  EXPECT_THAT(Get(*daemon, "/metrics").body,
              HasSubstr("\nlockkeeper_store_loss_total{loss=\"promoted\"} 1\n"))
      << "told once, not for each part";
}

// Goal: a Cluster without one of its primaries says what is wrong, and loses nothing. Method: by
// default it serves no slot then.
TEST_F(ClusterDaemonTest, ClusterThatIsDownIsToldAndServesAgainWhenItsPrimaryIsBack) {
  ClusterSet cluster({.node_timeout = milliseconds(2'000)});
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  const std::string of_first = NamesAt(cluster, 0, "held ").front();
  const std::string of_second = NamesAt(cluster, 1, "held ").front();
  const v1::Lease first = Acquire(client, of_first);
  const v1::Lease second = Acquire(client, of_second);

  cluster.server(1).Kill();
  AwaitState(cluster.server(0), "fail");
  const auto refused = AwaitRefusal(client, NamesAt(cluster, 0, "new ").front());
  EXPECT_EQ(refused.reason, "STORE_UNAVAILABLE");
  EXPECT_THAT(refused.status.error_message(), HasSubstr("CLUSTERDOWN"));
  EXPECT_EQ(AwaitRefusal(client, of_second + " new").reason, "STORE_UNAVAILABLE");

  cluster.server(1).Restart(support::Data::kKeep);
  for (const size_t primary : {0, 1, 2}) {
    for (const std::string& name : NamesAt(cluster, primary, "again ")) Acquire(client, name);
  }
  for (const auto& [name, lease] : {std::pair(of_first, first), std::pair(of_second, second)}) {
    const auto taken = client.Acquire(AcquireOf(name, support::NewLeaseId()));
    EXPECT_TRUE(taken.ok() && !taken.response.has_lease()) << name << " was held";
    EXPECT_TRUE(client.Extend(support::ExtendOf(name, lease.lease_id())).ok()) << name;
  }
}

TEST_F(ClusterDaemonTest, WithoutFullCoverageOnlyLocksOfThePrimaryThatIsAwayWait) {
  ClusterSet cluster(
      {.node_timeout = milliseconds(2'000), .settings = {"cluster-require-full-coverage no"}});
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  const std::vector<std::string> away = NamesAt(cluster, 1, "away ");
  for (const std::string& name : away) Acquire(client, name + " before");

  cluster.server(1).Kill();
  // Nobody serves its slots once the others know.
  while (cluster.server(0).Run({"CLUSTER", "INFO"}).text.find("cluster_slots_fail:0") !=
         std::string::npos) {
    std::this_thread::yield();
  }

  for (const size_t primary : {0, 2}) {
    for (const std::string& name : NamesAt(cluster, primary, "here ")) {
      EXPECT_TRUE(client.Acquire(AcquireOf(name)).response.has_lease()) << name;
    }
  }
  EXPECT_EQ(AwaitRefusal(client, away.front()).reason, "STORE_UNAVAILABLE");
}

TEST_F(ClusterDaemonTest, PrimaryThatIsCutOffFromMostOthersStops) {
  ClusterSet cluster({.node_timeout = milliseconds(2'000)});
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  const std::string name = NamesAt(cluster, 0, "lock ").front();
  Acquire(client, name);

  cluster.server(1).Pause();
  cluster.server(2).Pause();
  AwaitState(cluster.server(0), "fail");
  const auto refused = AwaitRefusal(client, NamesAt(cluster, 0, "new ").front());
  EXPECT_EQ(refused.reason, "STORE_UNAVAILABLE");
  EXPECT_THAT(refused.status.error_message(), HasSubstr("CLUSTERDOWN"));

  cluster.server(1).Resume();
  cluster.server(2).Resume();
  AwaitState(cluster.server(0), "ok");
  Acquire(client, NamesAt(cluster, 0, "again ").front());
}

TEST_F(ClusterDaemonTest, ReplicaThatFailsIsNoticedByNobody) {
  ClusterSet cluster({.primaries = 1, .replicas = 1, .node_timeout = milliseconds(1'000)});
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  // Or "slave,fail?", as a primary says that has nobody to ask.
  const auto has_failed = [&] {
    return cluster.server(0).Run({"CLUSTER", "NODES"}).text.find("slave,fail") != std::string::npos;
  };

  cluster.server(1).Kill();
  for (int i = 0; i < 20 || !has_failed(); ++i) {
    const std::string id = support::NewLeaseId();
    const auto granted = client.Acquire(AcquireOf(NameOf(i % 20), id));
    ASSERT_TRUE(granted.response.has_lease()) << granted.status.error_message();
    const auto released = client.Release(support::ReleaseOf(NameOf(i % 20), id));
    ASSERT_TRUE(released.ok()) << released.status.error_message();
  }
}

// Goal: a call whose keys are at two servers waits until they are together again. Method: a lock
// with a waiter has two keys, which leave one after the other; its holder releases it in between.
TEST_F(ClusterDaemonTest, LockWhoseKeysAreAtTwoServersWaitsForThem) {
  ClusterSet cluster({.primaries = 2});
  const auto daemon = On(cluster);
  LockClient client(daemon->GrpcAddress());
  const std::string name = NamesAt(cluster, 0, "lock ").front();
  const uint16_t slot = SlotOfPart(PartOf(name));
  const v1::Lease held = Acquire(client, name);
  auto waiting = std::async(std::launch::async, [&] {
    LockClient waiter(daemon->GrpcAddress(), seconds(80));
    v1::AcquireRequest request = AcquireOf(name, support::NewLeaseId());
    request.mutable_wait_timeout()->set_seconds(60);
    return waiter.Acquire(request);
  });
  const auto keys_at = [&](size_t server) {
    const redis::Reply keys = cluster.server(server).Run({"KEYS", "lk:*{" + name + "}*"});
    return keys.items.size();
  };
  while (keys_at(0) < 2) std::this_thread::yield();
  for (size_t i = 0; i < cluster.servers(); ++i) {
    while (std::stoi(cluster.server(i).Info("server", "uptime_in_seconds")) < 5) {
      std::this_thread::yield();
    }
  }
  std::future<support::Answer<v1::ReleaseResponse>> releasing;
  const auto asked_to_try_again = [&] {
    return !cluster.server(0).Info("errorstats", "errorstat_TRYAGAIN").empty() ||
           !cluster.server(1).Info("errorstats", "errorstat_TRYAGAIN").empty();
  };

  cluster.MoveSlot(slot, 1, [&] {
    if (keys_at(0) != 1 || releasing.valid()) return;
    releasing = std::async(std::launch::async, [&] {
      return client.Release(support::ReleaseOf(name, held.lease_id()));
    });
    while (!asked_to_try_again()) std::this_thread::yield();
    EXPECT_EQ(releasing.wait_for(seconds(0)), std::future_status::timeout);
  });

  ASSERT_TRUE(releasing.valid()) << "the keys were never apart";
  EXPECT_TRUE(releasing.get().response.released());
  EXPECT_TRUE(waiting.get().response.has_lease());
  EXPECT_THAT(Get(*daemon, "/metrics").body, HasSubstr("\nlockkeeper_store_epoch 16\n"));
}

TEST_F(ClusterDaemonTest, WrongKindOfStoreEndsTheStartAndNamesTheRightOne) {
  ClusterSet cluster({.primaries = 1});
  const std::string place = cluster.url().substr(cluster.url().rfind('/') + 1);
  const auto as_one =
      Launch({"--redis", "redis://" + place, "--listen", "127.0.0.1:0", "--http-listen", ""});
  EXPECT_EQ(as_one->ExitCode(), kStoreUnusable);
  EXPECT_THAT(as_one->Stderr(), HasSubstr("redis+cluster://"));

  support::RedisServer alone({.listening = support::Listening::kUnixSocketAndTcp});
  const auto as_cluster =
      Launch({"--redis", "redis+cluster://127.0.0.1:" + std::to_string(alone.port()), "--listen",
              "127.0.0.1:0", "--http-listen", ""});
  EXPECT_EQ(as_cluster->ExitCode(), kStoreUnusable);
  EXPECT_THAT(as_cluster->Stderr(), HasSubstr("is no server of a Cluster"));
}

}  // namespace
}  // namespace lockkeeper
