// SPDX-License-Identifier: Apache-2.0
// A store that is away: the daemon says so, answers in time, and recovers by itself.
#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "integration/daemon/fixture.h"
#include "support/process/cli_process.h"
#include "support/process/stopped_thread.h"
#include "support/rpc/lock_requests.h"

namespace lockkeeper {
namespace {

using std::chrono::milliseconds;
using support::AcquireOf;
using support::CheckHealth;
using support::Data;
using support::ExtendOf;
using support::FenceOf;
using support::LockClient;
using support::RedisServer;
using support::ReleaseOf;
using support::Serving;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::StartsWith;

class HealthTest : public DaemonTest {
 protected:
  RedisServer redis_;
};

TEST_F(HealthTest, StoreAwayAtTheStartIsWaitedFor) {
  redis_.Kill();

  const auto daemon = Start({"--redis", redis_.url()});

  LockClient client(daemon->GrpcAddress());
  for (const std::string name :
       {"", "lockkeeper.v1.LockService", "lockkeeper.admin.v1.AdminService", "store"}) {
    EXPECT_EQ(CheckHealth(client.channel(), name), Serving::kNotServing) << name;
  }
  EXPECT_EQ(Get(*daemon, "/healthz").status, 200);
  EXPECT_EQ(Get(*daemon, "/readyz").status, 503);
  EXPECT_THAT(Get(*daemon, "/readyz").body, HasSubstr("store away"));
  EXPECT_FALSE(client.GetServerInfo().response.store().reachable());
  EXPECT_THAT(client.GetServerInfo().response.store().problem(), HasSubstr(redis_.socket_path()));
  EXPECT_EQ(client.Acquire(AcquireOf("n")).reason, "STORE_UNAVAILABLE");

  redis_.Restart(Data::kKeep);

  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  EXPECT_EQ(Get(*daemon, "/readyz").status, 200);
  EXPECT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());
}

TEST_F(HealthTest, DaemonIsNotReadyBeforeItsGuardHasLooked) {
  redis_.Run({"CLIENT", "PAUSE", "600000", "WRITE"});  // The guard cannot write its marker.

  const auto daemon = Start({"--redis", redis_.url()});

  EXPECT_EQ(Get(*daemon, "/readyz").status, 503);
  EXPECT_THAT(Get(*daemon, "/readyz").body, HasSubstr("has not looked at the store"));

  redis_.Run({"CLIENT", "UNPAUSE"});

  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  EXPECT_EQ(Get(*daemon, "/readyz").status, 200);
}

TEST_F(HealthTest, StoreThatDiesAndComesBackIsFoundAgain) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress());
  ASSERT_TRUE(client.Acquire(AcquireOf("n")).response.has_lease());

  redis_.Kill();
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));
  EXPECT_EQ(client.Acquire(AcquireOf("n")).reason, "STORE_UNAVAILABLE");

  redis_.Restart(Data::kLose);
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  EXPECT_EQ(client.Acquire(AcquireOf("n")).reason, "STORE_QUARANTINED") << "it answers again";
}

// Everything else that tells of the daemon's health hears it from the loop.
TEST_F(HealthTest, DaemonWhoseLoopStandsStillIsUnhealthyUntilItTurnsAgain) {
  const auto daemon = Start({"--redis", redis_.url()});
  const auto loop = support::ThreadCalled("loop", daemon->pid());
  ASSERT_TRUE(loop);
  {
    const support::StoppedThread stopped(*loop);
    if (!stopped.is_stopped()) GTEST_SKIP() << "ptrace is not allowed here: " << strerror(errno);

    ASSERT_TRUE(support::WaitUntil([&] { return Get(*daemon, "/healthz").status == 503; }));
    ASSERT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));
    for (const std::string page : {"/healthz", "/readyz"}) {
      EXPECT_EQ(Get(*daemon, page).status, 503) << page;
      EXPECT_THAT(Get(*daemon, page).body, HasSubstr("the daemon's loop stands still")) << page;
    }
    EXPECT_THAT(Get(*daemon, "/metrics").body, HasSubstr("\nlockkeeper_event_loop_stuck 1\n"));
    EXPECT_THAT(Get(*daemon, "/metrics").body, HasSubstr("\nlockkeeper_store_granting 0\n"));
    LockClient client(daemon->GrpcAddress());
    EXPECT_THAT(client.GetServerInfo().response.problem(), HasSubstr("loop stands still"));
    daemon->WaitForLog("event=loop.stuck");
  }

  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
  daemon->WaitForLog("event=loop.turns_again");
  EXPECT_EQ(Get(*daemon, "/healthz").status, 200);
  EXPECT_THAT(Get(*daemon, "/metrics").body, HasSubstr("\nlockkeeper_event_loop_stuck 0\n"));
}

TEST_F(HealthTest, StoreThatIsOutOfMemoryIsListedLikeAnyOther) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress());
  ASSERT_TRUE(client.Acquire(AcquireOf("a")).response.has_lease());
  ASSERT_TRUE(client.Acquire(AcquireOf("b")).response.has_lease());

  redis_.Run({"CONFIG", "SET", "maxmemory", "1"});

  EXPECT_EQ(client.ListLocks().response.locks_size(), 2);
}

TEST_F(HealthTest, StoreThatComesBackAsAReplicaIsNotServedAndTellsTheSetting) {
  const auto daemon = Start({"--redis", redis_.url()});

  redis_.Restart(Data::kKeep, {"replicaof 127.0.0.1 1"});

  daemon->WaitForLog("REPLICAOF NO ONE");
  EXPECT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));
  EXPECT_THAT(Get(*daemon, "/readyz").body, HasSubstr("REPLICAOF NO ONE"));
}

// The reason of what `call` is answered with before its deadline. The daemon keeps back 20 ms for
// its answer: an overloaded machine may make it late, so the test tries again.
template <typename Call>
std::string ReasonInTime(const Call& call) {
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    const auto answer = call();
    if (answer.status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) return answer.reason;
  }
  return "no answer came before its deadline";
}

TEST_F(HealthTest, FrozenStoreIsAnsweredBeforeTheDeadline) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient patient(daemon->GrpcAddress());
  const auto held = patient.Acquire(AcquireOf("held"));
  ASSERT_TRUE(held.response.has_lease());
  const std::string lease_id = held.response.lease().lease_id();
  const int64_t token = held.response.lease().fencing_token();
  LockClient client = patient.WithDeadline(milliseconds(700));
  redis_.Pause();

  for (const std::string& reason :
       {ReasonInTime([&] { return client.Acquire(AcquireOf("n")); }),
        ReasonInTime([&] { return client.Extend(ExtendOf("held", lease_id)); }),
        ReasonInTime([&] { return client.Release(ReleaseOf("held", lease_id)); }),
        ReasonInTime([&] { return client.Fence(FenceOf("held", token)); })}) {
    EXPECT_THAT(reason, AnyOf("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"));
  }

  redis_.Resume();
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kServing));
}

TEST_F(HealthTest, AdministratorsHearWhyTheStoreRefusesWritesBeforeTheirDeadlines) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress(), std::chrono::hours(1));
  ASSERT_TRUE(client.Acquire(AcquireOf("held")).response.has_lease());
  redis_.Run({"CONFIG", "SET", "min-replicas-to-write", "1"});
  ASSERT_TRUE(WaitForHealth(*daemon, Serving::kNotServing));

  const auto told = [](const auto& answer) {
    // store.request_timeout is 1 s.
    EXPECT_LT(answer.elapsed, std::chrono::seconds(10));
    return answer.reason + ": " + answer.status.error_message();
  };
  const auto is_the_cause = AllOf(StartsWith("STORE_UNAVAILABLE: "), HasSubstr("NOREPLICAS"));
  EXPECT_THAT(told(client.GetLock("held")), is_the_cause);
  EXPECT_THAT(told(client.ListLocks()), is_the_cause);
  EXPECT_THAT(told(client.ForceRelease("held")), is_the_cause);
  LockClient hasty = client.WithDeadline(milliseconds(700));
  EXPECT_THAT(told(hasty.GetLock("held")), is_the_cause);
  EXPECT_THAT(told(hasty.ListLocks()), is_the_cause);
  EXPECT_THAT(told(hasty.ForceRelease("held")), is_the_cause);
}

TEST_F(HealthTest, FrozenStoreIsAnsweredWithoutADeadlineToo) {
  const auto daemon = Start({"--redis", redis_.url()});
  LockClient client(daemon->GrpcAddress(), std::chrono::hours(1));
  redis_.Pause();

  const auto answer = client.Acquire(AcquireOf("n"));

  EXPECT_THAT(answer.reason, AnyOf("STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"));
  // store.request_timeout is 1 s.
  EXPECT_LT(answer.elapsed, std::chrono::seconds(10));
}

}  // namespace
}  // namespace lockkeeper
