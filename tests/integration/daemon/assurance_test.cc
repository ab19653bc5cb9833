// SPDX-License-Identifier: Apache-2.0
//
// A daemon whose leases need a replica (store.assurance), with a real replica that stands still.
#include <gmock/gmock.h>

#include <future>

#include "integration/daemon/fixture.h"
#include "support/process/replicated_servers.h"
#include "support/rpc/lock_requests.h"
#include "support/spin.h"

namespace lockkeeper {
namespace {

using support::AcquireOf;
using support::ExtendOf;
using support::LockClient;
using support::NewLeaseId;
using support::ReleaseOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr int kConfigurationWrong = 78;
constexpr int kStoreUnusable = 69;

using Acquired = support::Answer<v1::AcquireResponse>;

class AssuranceDaemonTest : public DaemonTest {
 protected:
  // A daemon waits for replicas for half of the timeout. A busy machine must not look like a store
  // that does not answer.
  static Environment Replicas(const std::string& count) {
    return {{"LOCKKEEPERD_STORE_ASSURANCE", "replicas:" + count},
            {"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "4s"}};
  }

  // An acquire that waits, on a connection of its own. It stands in line when this returns.
  std::future<Acquired> Wait(const std::string& name, bool confirm = false) {
    v1::AcquireRequest request = AcquireOf(name, NewLeaseId());
    request.mutable_wait_timeout()->set_seconds(60);
    request.set_confirm(confirm);
    const int before = WaitersOf(name);
    auto waiting = std::async(std::launch::async, [this, request] {
      LockClient client(daemon_->GrpcAddress(), std::chrono::seconds(80));
      return client.Acquire(request);
    });
    while (WaitersOf(name) == before) {
    }
    return waiting;
  }

  int WaitersOf(const std::string& name) { return client_.GetLock(name).response.lock().waiters(); }

  // The record of the lock in Redis; empty if there is none.
  std::string RecordOf(const std::string& name) {
    return servers_.primary().Run({"GET", "lk:{" + name + "}"}).text;
  }

  // Asks until the daemon has noticed that the replica stands still.
  void AwaitRefusal() {
    Acquired answer;
    do {
      answer = client_.Acquire(AcquireOf("probe", NewLeaseId()));
      if (answer.ok()) client_.Release(ReleaseOf("probe", answer.response.lease().lease_id()));
    } while (answer.ok());
  }

  support::ReplicatedServers servers_;
  std::unique_ptr<support::DaemonProcess> daemon_ =
      Start({"--redis", servers_.primary().url()}, Replicas("1"));
  LockClient client_{daemon_->GrpcAddress()};
};

TEST_F(AssuranceDaemonTest, LeaseIsOnTheReplicaWhenItsClientHasIt) {
  for (int i = 0; i < 20; ++i) {
    const std::string name = "lock" + std::to_string(i);
    const auto granted = client_.Acquire(AcquireOf(name));

    ASSERT_TRUE(granted.response.has_lease());
    EXPECT_EQ(granted.response.lease().assurance(), v1::ASSURANCE_REPLICAS);
    EXPECT_THAT(servers_.replica().Run({"GET", "lk:{" + name + "}"}).text,
                HasSubstr(std::to_string(granted.response.lease().fencing_token())));
  }
  EXPECT_EQ(client_.GetServerInfo().response.store().assurance(), v1::ASSURANCE_REPLICAS);
}

TEST_F(AssuranceDaemonTest, WithAReplicaThatStandsStillNothingStaysSetAndHoldersGoOn) {
  const auto held = client_.Acquire(AcquireOf("held"));
  const auto other = client_.Acquire(AcquireOf("other"));
  ASSERT_TRUE(held.response.has_lease() && other.response.has_lease());
  servers_.replica().Pause();

  const auto refused = client_.Acquire(AcquireOf("new", NewLeaseId()));
  EXPECT_EQ(refused.reason, "ASSURANCE_NOT_REACHED");
  EXPECT_THAT(RecordOf("new"), Not(HasSubstr(" H "))) << "set all the same";
  // The daemon knows by now, so that nothing is written.
  const auto again = client_.Acquire(AcquireOf("newer", NewLeaseId()));
  EXPECT_EQ(again.reason, "ASSURANCE_NOT_REACHED");
  EXPECT_EQ(RecordOf("newer"), "");

  const auto extended = client_.Extend(ExtendOf("held", held.response.lease().lease_id()));
  ASSERT_TRUE(extended.ok());
  EXPECT_EQ(extended.response.lease().assurance(), v1::ASSURANCE_MEMORY);
  const auto released = client_.Release(ReleaseOf("other", other.response.lease().lease_id()));
  EXPECT_TRUE(released.ok() && released.response.released());
  EXPECT_THAT(Get(*daemon_, "/readyz").body, HasSubstr("0 of 1 replicas"));

  servers_.replica().Resume();
  Acquired granted;
  do {
    granted = client_.Acquire(AcquireOf("new", NewLeaseId()));
  } while (!granted.ok());
  EXPECT_TRUE(granted.response.has_lease());
}

TEST_F(AssuranceDaemonTest, WaitersKeepTheirPlacesWhileTheReplicaStandsStill) {
  const auto held = client_.Acquire(AcquireOf("a"));
  ASSERT_TRUE(held.response.has_lease());
  auto first = Wait("a");
  auto second = Wait("a", /*confirm=*/true);
  auto third = Wait("a");
  servers_.replica().Pause();

  ASSERT_TRUE(client_.Release(ReleaseOf("a", held.response.lease().lease_id())).ok());
  AwaitRefusal();
  for (const auto* waiting : {&first, &second, &third}) {
    EXPECT_EQ(waiting->wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  }
  while (WaitersOf("a") != 3) {  // Until the one that had the offer is back.
  }
  EXPECT_THAT(RecordOf("a"), Not(HasSubstr(" H ")));

  servers_.replica().Resume();
  const Acquired one = first.get();
  ASSERT_TRUE(one.response.has_lease()) << one.reason;
  EXPECT_EQ(one.response.lease().assurance(), v1::ASSURANCE_REPLICAS);
  ASSERT_TRUE(client_.Release(ReleaseOf("a", one.response.lease().lease_id())).ok());
  const Acquired two = second.get();
  ASSERT_TRUE(two.response.has_lease()) << two.reason;
  EXPECT_TRUE(two.response.lease().offered());
  const auto claimed = client_.Extend(ExtendOf("a", two.response.lease().lease_id()));
  ASSERT_TRUE(claimed.ok()) << claimed.reason;
  EXPECT_EQ(claimed.response.lease().assurance(), v1::ASSURANCE_REPLICAS);
  ASSERT_TRUE(client_.Release(ReleaseOf("a", two.response.lease().lease_id())).ok());
  const Acquired three = third.get();
  EXPECT_TRUE(three.response.has_lease()) << three.reason;
}

TEST_F(AssuranceDaemonTest, RequestMayAskForMoreThanTheDaemonIsToldTo) {
  const auto plain =
      Start({"--redis", servers_.primary().url()}, {{"LOCKKEEPERD_STORE_REQUEST_TIMEOUT", "4s"}});
  LockClient client(plain->GrpcAddress());
  v1::AcquireRequest request = AcquireOf("a", NewLeaseId());
  EXPECT_EQ(client.Acquire(AcquireOf("b")).response.lease().assurance(), v1::ASSURANCE_MEMORY);
  request.set_min_assurance(v1::ASSURANCE_REPLICAS);
  EXPECT_EQ(client.Acquire(request).response.lease().assurance(), v1::ASSURANCE_REPLICAS);

  servers_.replica().Pause();
  v1::AcquireRequest other = AcquireOf("c", NewLeaseId());
  other.set_min_assurance(v1::ASSURANCE_REPLICAS);
  EXPECT_EQ(client.Acquire(other).reason, "ASSURANCE_NOT_REACHED");
  EXPECT_THAT(RecordOf("c"), Not(HasSubstr(" H ")));
  EXPECT_TRUE(client.Acquire(AcquireOf("d")).response.has_lease());
}

TEST_F(AssuranceDaemonTest, MistakesInTheSettingAreTold) {
  const auto wrong = LaunchOnAnyPort({"--redis", servers_.primary().url()},
                                     {{"LOCKKEEPERD_STORE_ASSURANCE", "replica:1"}});
  EXPECT_EQ(wrong->ExitCode(), kConfigurationWrong);
  EXPECT_THAT(wrong->Stderr(), HasSubstr("replicas:N with N from 1 to 16"));
  const auto embedded =
      LaunchOnAnyPort({"--embedded", "--data-dir", directory_.Path("data")}, Replicas("1"));
  EXPECT_EQ(embedded->ExitCode(), kConfigurationWrong);
  EXPECT_THAT(embedded->Stderr(), HasSubstr("embedded store has no replicas"));
  const auto no_disk = LaunchOnAnyPort({"--redis", servers_.primary().url()},
                                       {{"LOCKKEEPERD_STORE_ASSURANCE", "fsynced"}});
  EXPECT_EQ(no_disk->ExitCode(), kStoreUnusable);
  EXPECT_THAT(no_disk->Stderr(), HasSubstr("appendonly yes"));
}

}  // namespace
}  // namespace lockkeeper
