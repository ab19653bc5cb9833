// SPDX-License-Identifier: Apache-2.0
//
// What costs no quarantine: a restart that lost nothing, and a setting that is put right again.
#include "integration/forget/clients.h"
#include "integration/forget/service.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::forget {
namespace {

using std::chrono::seconds;
using support::Durability;

class NoLossTest : public testing::Test {
 protected:
  // The answer of a daemon to somebody who wants a lock that is free.
  std::string AskedForALock(size_t daemon) {
    const std::string lease_id = support::NewLeaseId();
    const auto answer =
        service_.clients[daemon]->Acquire(support::AcquireOf("free", lease_id, seconds(1)));
    service_.clients[daemon]->Release(support::ReleaseOf("free", lease_id));
    return answer.ok() ? "granted" : answer.reason + ": " + answer.status.error_message();
  }

  bool Grants(size_t daemon) { return AskedForALock(daemon) == "granted"; }

  Service service_{{.durability = Durability::kDiskAlways}};
  History history_;
};

TEST_F(NoLossTest, RestartOfADurableRedisKeepsLocksAndCostsNoQuarantine) {
  Keeper keeper(service_.daemons[0]->GrpcAddress(), "kept", seconds(30), history_);
  const auto held =
      service_.clients[0]->Acquire(support::AcquireOf("held", support::NewLeaseId(), seconds(30)));

  service_.redis.Restart(support::Data::kKeep);

  // Without any proof, by a lease that nobody has re-asserted.
  const v1::ExtendRequest extend = support::ExtendOf("held", held.response.lease().lease_id());
  for (const auto& client : service_.clients) {
    EXPECT_TRUE(Service::Eventually([&] { return client->Extend(extend).ok(); }));
  }
  EXPECT_TRUE(Service::Eventually([&] { return Grants(0) && Grants(1); }));
  keeper.End();
  EXPECT_FALSE(service_.AnyLogHas("event=guard.loss_suspected"));
  EXPECT_FALSE(service_.AnyLogHas("event=guard.new_epoch"));
}

TEST_F(NoLossTest, EvictionPolicyStopsGrantsUntilItIsRightAgain) {
  Keeper keeper(service_.daemons[0]->GrpcAddress(), "kept", seconds(30), history_);
  ASSERT_TRUE(Grants(0) && Grants(1));

  service_.redis.Run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb"});

  for (size_t daemon = 0; daemon < 2; ++daemon) {
    std::string answer;
    EXPECT_TRUE(Service::Eventually([&] {
      answer = AskedForALock(daemon);
      return answer != "granted";
    }));
    EXPECT_TRUE(answer.starts_with("STORE_UNAVAILABLE: ")) << answer;
    EXPECT_NE(answer.find("maxmemory-policy is allkeys-lru"), std::string::npos) << answer;
    service_.daemons[daemon]->WaitForLog("event=guard.setting_refused");
  }
  const int extends = keeper.extends();
  EXPECT_TRUE(Service::Eventually([&] { return keeper.extends() > extends + 3; }));

  service_.redis.Run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_TRUE(Service::Eventually([&] { return Grants(0) && Grants(1); }));
  keeper.End();
  for (const auto& daemon : service_.daemons) daemon->WaitForLog("event=guard.grants_resumed");
  EXPECT_FALSE(service_.AnyLogHas("event=guard.loss_suspected"));
}

TEST_F(NoLossTest, HoldersGoOnOverNewConnectionsWhileTheEvictionPolicyIsWrong) {
  Keeper keeper(service_.daemons[0]->GrpcAddress(), "kept", seconds(30), history_);
  service_.redis.Run({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb"});
  for (const auto& daemon : service_.daemons) daemon->WaitForLog("event=guard.setting_refused");

  service_.redis.Run({"CLIENT", "KILL", "TYPE", "normal"});
  service_.redis.Run({"CLIENT", "KILL", "TYPE", "pubsub"});

  for (const auto& daemon : service_.daemons) daemon->WaitForLog("event=redis.connection_lost");
  const int extends = keeper.extends();
  EXPECT_TRUE(Service::Eventually([&] { return keeper.extends() > extends + 3; }));
  keeper.End();
  for (size_t daemon = 0; daemon < 2; ++daemon) {
    EXPECT_TRUE(AskedForALock(daemon).starts_with("STORE_UNAVAILABLE: ")) << daemon;
  }
}

// The marker never expires, so `volatile-lru` evicts locks only: nothing but the count tells.
TEST_F(NoLossTest, KeysThatWereEvictedAreALoss) {
  const auto held =
      service_.clients[0]->Acquire(support::AcquireOf("held", support::NewLeaseId(), seconds(8)));
  ASSERT_TRUE(held.response.has_lease());

  service_.redis.Run({"CONFIG", "SET", "maxmemory-policy", "volatile-lru", "maxmemory", "1"});
  service_.redis.Run({"SET", "anything", "makes room first"});
  service_.redis.Run({"CONFIG", "SET", "maxmemory", "0"});

  ASSERT_TRUE(Service::Eventually([&] { return service_.HasNoticed("evicted"); }));
  EXPECT_TRUE(AskedForALock(0).starts_with("STORE_QUARANTINED")) << AskedForALock(0);
  EXPECT_TRUE(service_.clients[1]->Extend(ProvedExtendOf(held.response.lease())).ok());
  EXPECT_TRUE(Service::Eventually([&] { return Grants(0) && Grants(1); }));
}

// Before any daemon is connected again, so that none sees the count rise.
TEST_F(NoLossTest, KeysThatWereEvictedRightAfterADurableRestartAreALoss) {
  const auto held =
      service_.clients[0]->Acquire(support::AcquireOf("held", support::NewLeaseId(), seconds(8)));
  ASSERT_TRUE(held.response.has_lease());

  service_.redis.Restart(support::Data::kKeep, {"maxmemory-policy volatile-lru", "maxmemory 1"});
  service_.redis.Run({"CONFIG", "SET", "maxmemory", "0"});

  ASSERT_TRUE(Service::Eventually([&] { return service_.HasNoticed("evicted"); }));
  EXPECT_TRUE(service_.clients[1]->Extend(ProvedExtendOf(held.response.lease())).ok());
  EXPECT_TRUE(Service::Eventually([&] { return Grants(0) && Grants(1); }));
}

}  // namespace
}  // namespace lockkeeper::forget
