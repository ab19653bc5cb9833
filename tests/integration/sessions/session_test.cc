// SPDX-License-Identifier: Apache-2.0
//
// Sessions at real daemons before one Redis: leases that outlive their stream and their daemon,
// many leases on one heartbeat, the line of waiters through a session.
#include <gmock/gmock.h>
#include <signal.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "core/types.h"
#include "integration/waiting/fixture.h"
#include "support/rpc/lock_requests.h"
#include "support/rpc/session_caller.h"

namespace lockkeeper {
namespace {

using support::AcquireOperation;
using support::ExtendOperation;
using support::ReleaseOf;
using support::ReleaseOperation;
using support::SessionCaller;

class SessionTest : public WaitingTest {
 protected:
  // The lease that an acquire of a free lock is answered with.
  static v1::Lease Take(SessionCaller& session, const std::string& name, int lease_number,
                        milliseconds ttl = seconds(30)) {
    v1::SessionOperation operation = AcquireOperation(1, name, Id(lease_number));
    operation.mutable_acquire()->mutable_ttl()->set_nanos(
        static_cast<int32_t>(ttl.count() % 1'000 * 1'000'000));
    operation.mutable_acquire()->mutable_ttl()->set_seconds(ttl.count() / 1'000);
    session.Send({operation});
    const auto result = session.ReadResult();
    EXPECT_TRUE(result && result->acquire().has_lease()) << name;
    return result ? result->acquire().lease() : v1::Lease();
  }

  static v1::SessionAdoptResult Adopt(SessionCaller& session, const v1::Lease& lease) {
    v1::SessionRequest request;
    request.mutable_adopt()->set_name(lease.name());
    request.mutable_adopt()->set_lease_id(lease.lease_id());
    request.mutable_adopt()->set_fencing_token(lease.fencing_token());
    request.mutable_adopt()->set_reassertion(lease.reassertion());
    session.Send(request);
    const auto answer = session.Read();
    EXPECT_TRUE(answer && answer->has_adopt_result());
    return answer ? answer->adopt_result() : v1::SessionAdoptResult();
  }

  static v1::SessionHeartbeatResult BeatOf(SessionCaller& session, uint64_t number) {
    session.Heartbeat(number);
    const auto answer = session.Read();
    EXPECT_TRUE(answer && answer->heartbeat_result().number() == number);
    return answer ? answer->heartbeat_result() : v1::SessionHeartbeatResult();
  }
  // Number of leases that a heartbeat could not extend.
  static int Beat(SessionCaller& session, uint64_t number) {
    return BeatOf(session, number).not_extended_size();
  }

  bool IsHeld(Replica& at, const std::string& name) {
    return at.client->GetLock(name).response.lock().state() == admin::v1::LOCK_STATE_HELD;
  }
};

TEST_F(SessionTest, LeasesOfAKilledDaemonAreAdoptedAtAnotherAndLive) {
  Replica first(redis_), second(redis_);
  SessionCaller before(first.client->channel());
  before.Open();
  std::vector<v1::Lease> leases;
  for (int i = 0; i < 20; ++i) {
    leases.push_back(Take(before, "lock" + std::to_string(i), i + 1, seconds(4)));
  }
  first.daemon.Signal(SIGKILL);
  EXPECT_FALSE(before.Read());

  SessionCaller after(second.client->channel());
  after.Open();
  for (const v1::Lease& lease : leases) {
    const v1::SessionAdoptResult adopted = Adopt(after, lease);
    EXPECT_EQ(adopted.lease().fencing_token(), lease.fencing_token()) << adopted.DebugString();
  }
  // For longer than their ttl.
  const auto until = std::chrono::steady_clock::now() + seconds(6);
  for (uint64_t number = 1; std::chrono::steady_clock::now() < until; ++number) {
    ASSERT_EQ(Beat(after, number), 0);
  }
  for (const v1::Lease& lease : leases) EXPECT_TRUE(IsHeld(second, lease.name())) << lease.name();
}

TEST_F(SessionTest, LeasesThatRedisForgotAreNamedUntilTheyAreProvedAndThenKept) {
  Replica replica(redis_);
  SessionCaller session(replica.client->channel()), adopting(replica.client->channel());
  session.Open();
  adopting.Open();
  const v1::Lease extended = Take(session, "extended", 1, seconds(6));
  const v1::Lease adopted = Take(session, "adopted", 2, seconds(6));

  redis_.Run({"FLUSHALL"});

  // A heartbeat asks only for those that are due.
  uint64_t number = 1;
  v1::SessionHeartbeatResult beaten = BeatOf(session, number);
  while (beaten.not_extended_size() < 2 && number < 1'000'000) {
    beaten = BeatOf(session, ++number);
  }
  ASSERT_EQ(beaten.not_extended_size(), 2);
  for (const v1::SessionLeaseLost& lease : beaten.not_extended()) {
    EXPECT_EQ(lease.reason(), v1::ERROR_REASON_STORE_QUARANTINED);
  }
  v1::Lease unproved = adopted;
  unproved.clear_reassertion();
  EXPECT_EQ(Adopt(adopting, unproved).error().reason(), v1::ERROR_REASON_STORE_QUARANTINED);

  v1::SessionOperation proof = ExtendOperation(3, "extended", Id(1));
  proof.mutable_extend()->set_fencing_token(extended.fencing_token());
  proof.mutable_extend()->set_reassertion(extended.reassertion());
  session.Send({proof});
  EXPECT_EQ(session.ReadResult()->extend().lease().fencing_token(), extended.fencing_token());
  EXPECT_EQ(Adopt(adopting, adopted).lease().fencing_token(), adopted.fencing_token());

  // For longer than the quarantine, and than their ttl.
  const auto until = std::chrono::steady_clock::now() + seconds(8);
  while (std::chrono::steady_clock::now() < until) {
    ASSERT_EQ(Beat(session, ++number), 0);
    ASSERT_EQ(Beat(adopting, number), 0);
  }
  EXPECT_TRUE(IsHeld(replica, "extended"));
  EXPECT_TRUE(IsHeld(replica, "adopted"));
}

TEST_F(SessionTest, HalfOpenStreamDoesNoHarmToTheSessionThatAdopted) {
  Replica first(redis_), second(redis_);
  SessionCaller after(second.client->channel());
  after.Open();
  {
    v1::SessionOpen open;
    open.set_release_on_close(true);
    SessionCaller before(first.client->channel());
    before.Open(open);
    const v1::Lease lease = Take(before, "n", 1);
    EXPECT_EQ(Adopt(after, lease).lease().fencing_token(), lease.fencing_token());
    EXPECT_EQ(Beat(before, 1), 0) << "the old stream still lives";
  }  // Now it breaks.
  first.daemon.Signal(SIGTERM);
  EXPECT_EQ(first.daemon.ExitCode(), 0) << "now it has noticed";
  EXPECT_EQ(Beat(after, 2), 0);
  EXPECT_TRUE(IsHeld(second, "n"));
  after.Send({ReleaseOperation(2, "n", Id(1))});
  EXPECT_TRUE(after.ReadResult()->release().released());
}

TEST_F(SessionTest, OneHeartbeatExtendsManyLeasesAndTellsOfTheLostOnes) {
  constexpr int kLeases = 3'000;
  constexpr int kLost = 7;
  Replica daemon(redis_);
  SessionCaller session(daemon.client->channel());
  session.Open();
  for (int i = 0; i < kLeases; i += 200) {
    std::vector<v1::SessionOperation> batch;
    for (int k = i; k < i + 200; ++k) {
      batch.push_back(
          AcquireOperation(static_cast<uint64_t>(k), "lock" + std::to_string(k), Id(k + 1)));
      batch.back().mutable_acquire()->mutable_ttl()->set_seconds(6);
    }
    session.Send(batch);
  }
  for (int i = 0; i < kLeases; ++i) ASSERT_TRUE(session.ReadResult()->acquire().has_lease()) << i;
  for (int i = 0; i < kLost; ++i) {
    ASSERT_TRUE(daemon.client->Release(ReleaseOf("lock" + std::to_string(i), Id(i + 1)))
                    .response.released());
  }
  // Until the leases have been due, and were extended or found lost.
  int lost = 0;
  const auto until = std::chrono::steady_clock::now() + seconds(7);
  for (uint64_t number = 1; std::chrono::steady_clock::now() < until; ++number) {
    lost += Beat(session, number);
  }
  EXPECT_EQ(lost, kLost);
  EXPECT_TRUE(IsHeld(daemon, "lock" + std::to_string(kLeases - 1)));
  session.Close();
  const auto closed = session.Read();
  ASSERT_TRUE(closed && closed->has_closed());
}

TEST_F(SessionTest, WaitersOfASessionAreServedInTheirOrder) {
  constexpr uint64_t kWaiters = 50;
  Replica daemon(redis_);
  SessionCaller holder(daemon.client->channel());
  holder.Open();
  Take(holder, "n", 1'000);
  SessionCaller session(daemon.client->channel());
  session.Open();
  for (uint64_t i = 0; i < kWaiters; ++i) {
    v1::SessionOperation operation =
        AcquireOperation(i, "n", Id(static_cast<int>(i) + 1), seconds(120));
    operation.mutable_acquire()->set_confirm(i % 2 == 0);
    session.Send({operation});
  }
  ASSERT_TRUE(WaitForWaiters(daemon, kWaiters));
  v1::SessionRequest cancel;
  cancel.mutable_cancel()->set_operation_id(10);
  session.Send(cancel);
  const auto cancelled = session.ReadResult();
  ASSERT_TRUE(cancelled);
  EXPECT_EQ(cancelled->operation_id(), 10U);
  EXPECT_EQ(cancelled->acquire().contention().reason(), v1::CONTENTION_REASON_CANCELLED);

  holder.Send({ReleaseOperation(1, "n", Id(1'000))});
  EXPECT_TRUE(holder.ReadResult()->release().released());
  for (uint64_t i = 0; i < kWaiters; ++i) {
    if (i == 10) continue;
    const std::string lease_id = Id(static_cast<int>(i) + 1);
    if (i % 2 == 0) {
      const auto message = session.Read();
      ASSERT_TRUE(message && message->has_offer()) << i;
      EXPECT_EQ(message->offer().operation_id(), i);
      session.Send({ExtendOperation(1'000, "n", lease_id)});
      EXPECT_TRUE(session.ReadResult()->extend().has_lease());
    } else {
      const auto result = session.ReadResult();
      ASSERT_TRUE(result && result->acquire().has_lease()) << i;
      EXPECT_EQ(result->operation_id(), i);
    }
    // Elsewhere, so that the next offer cannot come before the answer.
    holder.Send({ReleaseOperation(1, "n", lease_id)});
    EXPECT_TRUE(holder.ReadResult()->release().released());
  }
  EXPECT_TRUE(Eventually([this] { return LineIsGone(); }));
}

TEST_F(SessionTest, BrokenStreamLeavesTheLineAndItsLeasesRunOn) {
  Replica daemon(redis_);
  {
    SessionCaller session(daemon.client->channel());
    session.Open();
    Take(session, "n", 1);
    session.Send({AcquireOperation(2, "n", Id(2), seconds(120))});
    ASSERT_TRUE(WaitForWaiters(daemon, 1));
  }
  EXPECT_TRUE(WaitForWaiters(daemon, 0));
  EXPECT_TRUE(Eventually([this] { return LineIsGone(); }));
  EXPECT_TRUE(IsHeld(daemon, "n"));
}

TEST_F(SessionTest, DrainingDaemonWaitsUntilItsLeasesHaveMoved) {
  Replica first(redis_), second(redis_);
  SessionCaller before(first.client->channel());
  before.Open();
  const v1::Lease lease = Take(before, "n", 1);
  before.Send({AcquireOperation(2, "n", Id(2), seconds(120))});
  ASSERT_TRUE(WaitForWaiters(first, 1));
  first.daemon.Signal(SIGTERM);
  bool draining = false;
  bool refused = false;
  while (!draining || !refused) {
    const auto message = before.Read();
    ASSERT_TRUE(message);
    draining |= message->has_draining();
    for (const v1::SessionResult& result : message->results().results()) {
      EXPECT_EQ(result.error().reason(), v1::ERROR_REASON_SERVER_DRAINING);
      refused = true;
    }
  }
  SessionCaller after(second.client->channel());
  after.Open();
  EXPECT_EQ(Adopt(after, lease).lease().fencing_token(), lease.fencing_token());
  before.Close();
  EXPECT_TRUE(before.Read()->has_closed());
  EXPECT_EQ(first.daemon.ExitCode(), 0);
  EXPECT_TRUE(IsHeld(second, "n"));
}

}  // namespace
}  // namespace lockkeeper
