// SPDX-License-Identifier: Apache-2.0
//
// Acquires that stand in line while Redis forgets the line: they get the lock after all.
#include "integration/forget/clients.h"
#include "integration/forget/service.h"
#include "integration/waiting/fixture.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper::forget {
namespace {

constexpr seconds kTtl{1};
constexpr milliseconds kQuarantine = kTtl + kTtl / 100;
// A waiter looks after its place about once a second.
constexpr milliseconds kLateMax{1'500};

class WaitersTest : public testing::Test {
 protected:
  std::unique_ptr<WaitingCall> StandInLine(Service& service, size_t daemon, int place) {
    v1::AcquireRequest request = support::AcquireOf("n", support::NewLeaseId(), kTtl);
    request.mutable_wait_timeout()->set_seconds(20);
    support::LockClient& client = *service.clients[daemon];
    const int64_t before = client.GetServerInfo().response.waiters();
    auto call = std::make_unique<WaitingCall>(client, request);
    EXPECT_TRUE(Service::Eventually(
        [&] { return client.GetLock("n").response.lock().waiters() == place; }));
    // Until its daemon has heard of it, an acquire may end with OUTCOME_UNKNOWN.
    EXPECT_TRUE(Service::Eventually(
        [&] { return client.GetServerInfo().response.waiters() == before + 1; }));
    return call;
  }

  History history_;
};

TEST_F(WaitersTest, WhoStandsBehindALostLeaseIsGrantedAfterTheQuarantine) {
  Service service;
  ASSERT_TRUE(service.clients[0]
                  ->Acquire(support::AcquireOf("n", support::NewLeaseId(), kTtl))
                  .response.has_lease());
  const auto first = StandInLine(service, 0, 1);

  const Time before = std::chrono::steady_clock::now();
  service.redis.Run({"FLUSHALL"});
  ASSERT_TRUE(Service::Eventually([&] { return service.HasNoticed("emptied"); }));
  const Time noticed = std::chrono::steady_clock::now();

  ASSERT_TRUE(first->response().has_lease()) << first->reason();
  const Time granted = std::chrono::steady_clock::now();
  EXPECT_GE(granted, before + kQuarantine);
  EXPECT_LE(granted, noticed + kQuarantine + kLateMax);
}

TEST_F(WaitersTest, LineOfTwoDaemonsGoesOnBehindTheHolderWhoKeptTheLock) {
  constexpr seconds kOutlastsARestart{5};  // On a busy machine.
  Service service;
  Keeper holder(service.daemons[0]->GrpcAddress(), "n", kOutlastsARestart, history_);
  const auto first = StandInLine(service, 0, 1);
  const auto second = StandInLine(service, 1, 2);

  service.redis.Restart(support::Data::kLose);
  ASSERT_TRUE(Service::Eventually([&] { return service.HasNoticed("emptied"); }));
  ASSERT_TRUE(Service::Eventually(
      [&] { return service.clients[0]->GetLock("n").response.lock().waiters() == 2; }));
  EXPECT_FALSE(first->IsAnswered());
  EXPECT_FALSE(second->IsAnswered());
  holder.End();

  ASSERT_TRUE(first->response().has_lease()) << first->reason();
  ASSERT_TRUE(second->response().has_lease()) << second->reason();
  EXPECT_NE(first->lease().fencing_token(), second->lease().fencing_token());
}

}  // namespace
}  // namespace lockkeeper::forget
