// SPDX-License-Identifier: Apache-2.0
// Waiters that go before their turn: they leave nothing behind and delay nobody.
#include <gmock/gmock.h>

#include <csignal>

#include "integration/waiting/fixture.h"
#include "support/process/child_process.h"
#include "support/process/connection_gate.h"
#include "support/random.h"

namespace lockkeeper {
namespace {

class LeavingTest : public WaitingTest {
 protected:
  int64_t Keys() const { return redis_.Run({"DBSIZE"}).integer; }
};

TEST_F(LeavingTest, CancelledCallLeavesTheLineAndNothingRemains) {
  Replica replica(redis_);
  Hold(replica, "n", 1);
  const int64_t keys_before = Keys();
  const auto first = StandInLine(replica, 2, 1);
  const auto second = StandInLine(replica, 3, 2);
  EXPECT_FALSE(LineIsGone());

  first->Cancel();
  EXPECT_EQ(first->status().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(WaitForWaiters(replica, 1));
  second->Cancel();
  EXPECT_TRUE(WaitForWaiters(replica, 0));

  EXPECT_TRUE(LineIsGone());
  EXPECT_EQ(Keys(), keys_before);
  Release(replica, "n", 1);
  EXPECT_EQ(Keys(), keys_before) << "the record of the lock";
}

TEST_F(LeavingTest, KilledClientLeavesTheLine) {
  Replica replica(redis_);
  Hold(replica, "n", 1);
  support::ChildProcess client(
      {.command = {LOCKKEEPER_PROGRAM, "--server", replica.daemon.GrpcAddress(), "acquire", "n",
                   "--wait", "5m"}});
  ASSERT_TRUE(WaitForWaiters(replica, 1));

  client.Kill();

  EXPECT_TRUE(WaitForWaiters(replica, 0));
  EXPECT_TRUE(LineIsGone());
}

// Its machine is gone: nobody hangs up. It would have been granted a whole lease.
TEST_F(LeavingTest, CallerThatVanishedLeavesTheLineBeforeItsTurn) {
  const support::TemporaryDirectory directory;
  const std::string socket = directory.Path("socket");
  Replica replica(redis_, {}, socket);
  support::ConnectionGate gate(socket);
  Hold(replica, "n", 1);
  support::LockClient client(gate.address(), kPatience);
  WaitingCall vanished(client, Request("n", 2));
  ASSERT_TRUE(WaitForWaiters(replica, 1));
  const auto next = StandInLine(replica, 3, 2);
  const auto begin = std::chrono::steady_clock::now();

  gate.Hold();

  EXPECT_TRUE(WaitForWaiters(replica, 1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, seconds(10))
      << "5 s, and the machine is busy";
  Release(replica, "n", 1);
  EXPECT_TRUE(next->response().has_lease()) << next->status().error_message();
  EXPECT_LT(next->lease().waited().seconds(), 60) << "not after the ttl of the one that vanished";
}

// Each would have had the lock offered for a second. LOCKKEEPER_DEAD_WAITERS sets how many there
// are; the property delay_ms of the report says what they cost the next one, from the release on.
TEST_F(LeavingTest, WaitersOfAKilledDaemonArePassedOver) {
  constexpr int kDeadByDefault = 30;
  const auto dead_waiters =
      static_cast<int>(support::RepeatsFrom("LOCKKEEPER_DEAD_WAITERS", kDeadByDefault));
  Replica killed(redis_), living(redis_);
  Hold(living, "n", 1);
  std::vector<std::unique_ptr<WaitingCall>> dead;
  for (int i = 1; i <= dead_waiters; ++i) {
    dead.push_back(std::make_unique<WaitingCall>(*killed.client, Request("n", 100 + i)));
  }
  ASSERT_TRUE(WaitForWaiters(living, dead_waiters));
  const auto waiter = StandInLine(living, 2, dead_waiters + 1);
  killed.daemon.Signal(SIGKILL);
  killed.daemon.WaitForEnd();
  const auto begin = std::chrono::steady_clock::now();

  Release(living, "n", 1);

  ASSERT_TRUE(waiter->response().has_lease()) << waiter->status().error_message();
  const auto delay = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(delay, seconds(10));
  RecordProperty("delay_ms", static_cast<int>(std::chrono::ceil<milliseconds>(delay).count()));
}

TEST_F(LeavingTest, PausedDaemonsWaitersKeepTheirPlaces) {
  Replica paused(redis_), living(redis_);
  Hold(living, "n", 1);
  const auto first = StandInLine(paused, 2, 1);
  const auto second = StandInLine(living, 3, 2);
  const auto third = StandInLine(living, 4, 3);

  paused.daemon.Pause();
  Release(living, "n", 1);
  ASSERT_TRUE(second->response().has_lease()) << second->status().error_message();
  paused.daemon.Resume();
  ASSERT_TRUE(WaitForWaiters(living, 2)) << "it is back in its place";
  Release(living, "n", 3);

  EXPECT_TRUE(first->response().has_lease()) << first->status().error_message();
  EXPECT_FALSE(third->IsAnswered());
}

// An overloaded machine may make the answer late, so the test tries again.
TEST_F(LeavingTest, DeadlineShorterThanTheWaitGetsADefiniteAnswer) {
  Replica replica(redis_);
  Hold(replica, "n", 1);
  constexpr int kTries = 10;
  for (int i = 0; i < kTries; ++i) {
    WaitingCall call(*replica.client, Request("n", 10 + i), seconds(2));
    if (call.status().error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) continue;

    EXPECT_EQ(call.response().contention().reason(), v1::CONTENTION_REASON_WAIT_TIMED_OUT)
        << call.status().error_message();
    EXPECT_EQ(replica.client->GetLock("n").response.lock().waiters(), 0);
    EXPECT_TRUE(LineIsGone());
    return;
  }
  FAIL() << "no answer came before its deadline";
}

TEST_F(LeavingTest, WaitThatIsOverLeavesNothing) {
  Replica replica(redis_);
  Hold(replica, "n", 1);
  v1::AcquireRequest request = Request("n", 2);
  request.mutable_wait_timeout()->set_seconds(1);

  const auto answer = replica.client->Acquire(request);

  const v1::Contention& contention = answer.response.contention();
  EXPECT_EQ(contention.reason(), v1::CONTENTION_REASON_WAIT_TIMED_OUT)
      << answer.status.error_message();
  EXPECT_EQ(contention.position(), 1);
  EXPECT_EQ(contention.waiters(), 0);
  EXPECT_EQ(contention.holder_owner(), "waiting test");
  EXPECT_GT(contention.remaining_ttl().seconds(), 1);
  EXPECT_TRUE(LineIsGone());
}

TEST_F(LeavingTest, ReleaseOfAWaitingLeaseIdEndsItsWait) {
  Replica first(redis_), second(redis_);
  Hold(first, "n", 1);
  const auto waiter = StandInLine(first, 2, 1);

  const auto released = second.client->Release(support::ReleaseOf("n", Id(2))).response;

  EXPECT_FALSE(released.released());
  EXPECT_EQ(released.reason(), v1::NOT_RELEASED_REASON_WAITER_REMOVED);
  EXPECT_EQ(waiter->response().contention().reason(), v1::CONTENTION_REASON_CANCELLED)
      << waiter->status().error_message();
  EXPECT_TRUE(LineIsGone());
  EXPECT_EQ(first.client->Acquire(Request("n", 2)).reason, "LEASE_ENDED") << "void for good";
}

}  // namespace
}  // namespace lockkeeper
