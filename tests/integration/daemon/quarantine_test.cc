// SPDX-License-Identifier: Apache-2.0
// What a daemon tells of a store that may have forgotten leases: health, /readyz, metrics, server
// information and log.
#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>

#include <fstream>

#include "integration/daemon/fixture.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

using support::AcquireOf;
using support::CheckHealth;
using support::ExtendOf;
using support::LockClient;
using support::RedisServer;
using support::Serving;
using testing::HasSubstr;
using testing::StartsWith;

class QuarantineTest : public DaemonTest {
 protected:
  // Without the notes below it.
  static std::string ReadinessOf(const support::DaemonProcess& daemon) {
    const std::string body = Get(daemon, "/readyz").body;
    return body.substr(0, body.find('\n') + 1);
  }
  std::string Readiness() const { return ReadinessOf(*daemon_); }
  std::string Metrics() const { return Get(*daemon_, "/metrics").body; }
  Serving HealthOf(const std::string& name) { return CheckHealth(client_.channel(), name); }
  admin::v1::StoreInfo StoreInfo() { return client_.GetServerInfo().response.store(); }

  // On locks of its own in the same Redis.
  std::unique_ptr<support::DaemonProcess> StartOnNewStore(Environment environment) const {
    environment.emplace_back("LOCKKEEPERD_STORE_KEY_PREFIX", "new:");
    return Start({"--redis", redis_.url()}, environment);
  }

  // A lease for as long as the quarantine after it is to be; its id.
  std::string Hold(const std::string& name, std::chrono::seconds ttl) {
    const auto answer = client_.Acquire(AcquireOf(name, "", ttl));
    EXPECT_TRUE(answer.response.has_lease()) << answer.reason;
    return answer.response.lease().lease_id();
  }

  RedisServer redis_;
  const std::unique_ptr<support::DaemonProcess> daemon_ = Start({"--redis", redis_.url()});
  LockClient client_{daemon_->GrpcAddress()};
};

TEST_F(QuarantineTest, EmptiedStoreIsToldEverywhereWithSinceUntilAndWhatToDo) {
  Hold("n", std::chrono::seconds(60));
  EXPECT_EQ(Readiness(), "ready\n");
  EXPECT_THAT(Get(*daemon_, "/readyz").body, HasSubstr("\nnote: Redis answers before a grant"));
  EXPECT_EQ(StoreInfo().epoch(), 1);

  redis_.Run({"FLUSHALL"});
  daemon_->WaitForLog("event=guard.loss_suspected");

  EXPECT_THAT(daemon_->Stderr(), HasSubstr(" loss=emptied "));
  EXPECT_THAT(daemon_->Stderr(), HasSubstr(" quarantine_end=2"));
  EXPECT_EQ(Get(*daemon_, "/readyz").status, 200);
  EXPECT_THAT(Readiness(), StartsWith("ready; quarantined for another "));
  EXPECT_THAT(Readiness(), HasSubstr("Redis was emptied"));
  EXPECT_EQ(HealthOf("store"), Serving::kNotServing);
  EXPECT_EQ(HealthOf(""), Serving::kServing) << "holders have to reach it";
  EXPECT_EQ(HealthOf("lockkeeper.v1.LockService"), Serving::kServing);

  const admin::v1::StoreInfo store = StoreInfo();
  EXPECT_TRUE(store.reachable());
  EXPECT_EQ(store.epoch(), 2);
  EXPECT_EQ(store.last_loss(), "emptied");
  EXPECT_THAT(store.grant_problem(), HasSubstr("Redis was emptied"));
  EXPECT_GT(store.last_loss_time().seconds(), 0);
  // 60 s and one percent, and a millisecond.
  const auto length = google::protobuf::util::TimeUtil::DurationToMilliseconds(
      store.quarantine_end_time() - store.last_loss_time());
  EXPECT_NEAR(static_cast<double>(length), 60'600, 1'000);
  EXPECT_GT(store.quarantine_left().seconds(), 0);

  EXPECT_EQ(client_.Acquire(AcquireOf("n")).reason, "STORE_QUARANTINED");
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_store_granting 0\n"));
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_store_epoch 2\n"));
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_store_loss_total{loss=\"emptied\"} 1\n"));
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_grant_refused_total 1\n"));
}

TEST_F(QuarantineTest, ProofsAreCountedByWhatCameOfThem) {
  const auto lease = client_.Acquire(AcquireOf("n")).response.lease();
  redis_.Run({"FLUSHALL"});
  daemon_->WaitForLog("event=guard.loss_suspected");
  v1::ExtendRequest extend = ExtendOf("n", lease.lease_id());
  extend.set_fencing_token(lease.fencing_token());
  extend.set_reassertion("mine, honestly");
  EXPECT_EQ(client_.Extend(extend).reason, "LEASE_LOST");
  extend.set_reassertion(lease.reassertion());
  EXPECT_EQ(client_.Extend(extend).reason, "");

  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_reassertion_total{end=\"not_proved\"} 1\n"));
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_reassertion_total{end=\"taken_back\"} 1\n"));
}

TEST_F(QuarantineTest, EndIsTold) {
  Hold("n", std::chrono::seconds(1));
  redis_.Run({"FLUSHALL"});
  daemon_->WaitForLog("event=guard.grants_resumed");

  EXPECT_EQ(Readiness(), "ready\n");
  EXPECT_EQ(HealthOf("store"), Serving::kServing);
  EXPECT_EQ(StoreInfo().grant_problem(), "");
  EXPECT_EQ(StoreInfo().last_loss(), "emptied") << "it is still known";
  EXPECT_THAT(Metrics(), HasSubstr("\nlockkeeper_store_granting 1\n"));
}

TEST_F(QuarantineTest, QuarantineThatBeganBeforeTheDaemonIsToldByIt) {
  Hold("n", std::chrono::seconds(60));
  redis_.Run({"FLUSHALL"});
  daemon_->WaitForLog("event=guard.loss_suspected");

  const auto second = Start({"--redis", redis_.url()});

  second->WaitForLog("event=guard.new_epoch");
  EXPECT_THAT(Get(*second, "/readyz").body, HasSubstr("guard.loss_suspected"));
}

TEST_F(QuarantineTest, MissingRightIsTold) {
  redis_.Run({"ACL", "SETUSER", "poor", "on", ">p", "~*", "&*", "+@all", "-scan"});
  const std::string config = directory_.Path("config.yaml");
  // A store of its own, which has no marker yet.
  std::ofstream(config) << "store:\n  key_prefix: \"poor:\"\n";
  const auto poor = Start({"--redis", "unix://poor:p@" + redis_.socket_path(), "--config", config});

  poor->WaitForLog("event=guard.setting_refused");

  EXPECT_THAT(poor->Stderr(), HasSubstr("NOPERM"));
  EXPECT_THAT(ReadinessOf(*poor), HasSubstr("docs/operating/redis.md"));

  redis_.Run({"ACL", "SETUSER", "poor", "+scan"});
  poor->WaitForLog("event=guard.grants_resumed");
  EXPECT_EQ(ReadinessOf(*poor), "ready\n");
}

TEST_F(QuarantineTest, WaitForOtherDaemonsIsTold) {
  // The Redis is younger than the wait.
  const auto newcomer = StartOnNewStore({{"LOCKKEEPERD_STORE_FIRST_USE_WAIT", "1m"}});
  newcomer->WaitForLog("event=guard.first_use_waits");

  EXPECT_EQ(ReadinessOf(*newcomer),
            "ready; nothing new is granted: the store is empty: in 1m it counts as new, unless "
            "another daemon reports that it held data\n");
  EXPECT_THAT(newcomer->Stderr(), testing::Not(HasSubstr("guard.setting_refused")));
}

TEST_F(QuarantineTest, NewStoreIsQuarantinedIfThatIsSet) {
  const auto careful = StartOnNewStore(
      {{"LOCKKEEPERD_STORE_FIRST_USE", "quarantine"}, {"LOCKKEEPERD_STORE_FIRST_USE_WAIT", "0s"}});
  careful->WaitForLog("event=guard.first_use");

  EXPECT_THAT(ReadinessOf(*careful), StartsWith("ready; quarantined for another "));
  EXPECT_THAT(ReadinessOf(*careful), HasSubstr("store.first_use is `quarantine`"));
  EXPECT_EQ(LockClient(careful->GrpcAddress()).Acquire(AcquireOf("n")).reason, "STORE_QUARANTINED");
}

TEST_F(QuarantineTest, SettingThatForbidsGrantsIsToldAndHoldersGoOn) {
  const std::string id = Hold("n", std::chrono::seconds(60));

  redis_.Run({"CONFIG", "SET", "maxmemory", "100mb", "maxmemory-policy", "allkeys-lru"});
  daemon_->WaitForLog("event=guard.setting_refused");

  EXPECT_THAT(Readiness(), StartsWith("ready; nothing new is granted: the store may evict locks"));
  EXPECT_THAT(Readiness(), HasSubstr("set `maxmemory-policy noeviction`"));
  EXPECT_EQ(HealthOf("store"), Serving::kNotServing);
  EXPECT_EQ(HealthOf(""), Serving::kServing);
  EXPECT_THAT(StoreInfo().grant_problem(), HasSubstr("maxmemory-policy noeviction"));
  EXPECT_EQ(client_.Extend(ExtendOf("n", id)).reason, "");
  EXPECT_EQ(client_.Acquire(AcquireOf("other")).reason, "STORE_UNAVAILABLE");

  redis_.Run({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  daemon_->WaitForLog("event=guard.grants_resumed");
  EXPECT_EQ(Readiness(), "ready\n");
  EXPECT_EQ(HealthOf("store"), Serving::kServing);
}

TEST_F(QuarantineTest, FullStoreIsToldAndAllButGrantsGoOn) {
  const std::string id = Hold("n", std::chrono::seconds(60));
  const int64_t token = client_.GetLock("n").response.lock().fencing_token();

  redis_.Run({"CONFIG", "SET", "maxmemory", "1"});
  daemon_->WaitForLog("event=guard.setting_refused");

  EXPECT_THAT(Readiness(), StartsWith("ready; nothing new is granted: the store is full: it uses"));
  EXPECT_EQ(client_.Acquire(AcquireOf("other")).reason, "STORE_UNAVAILABLE");
  EXPECT_EQ(client_.Extend(ExtendOf("n", id)).reason, "");
  EXPECT_EQ(client_.Fence(support::FenceOf("n", token)).response.verdict(), v1::VERDICT_ADMITTED);
  EXPECT_EQ(client_.GetLock("n").response.lock().name(), "n");
  EXPECT_TRUE(client_.Release(support::ReleaseOf("n", id)).response.released());

  redis_.Run({"CONFIG", "SET", "maxmemory", "0"});
  daemon_->WaitForLog("event=guard.grants_resumed");
  EXPECT_EQ(client_.Acquire(AcquireOf("other")).reason, "");
}

}  // namespace
}  // namespace lockkeeper
