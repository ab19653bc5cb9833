// SPDX-License-Identifier: Apache-2.0
#include "simulation/line_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/scripts.h"
#include "simulation/campaign.h"
#include "simulation/daemon.h"
#include "simulation/judge.h"
#include "support/fake_node/redis_model.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {
namespace {

class LineWatchTest : public testing::Test {
 protected:
  LineWatchTest() { server_.LoadCompiledScripts(); }

  std::unique_ptr<Daemon> NewDaemon(uint64_t number) {
    return std::make_unique<Daemon>(
        Daemon::World{server_, clock_, executor_, judge_, watch_, false, false, replicas_}, number,
        random_.Fork());
  }

  // Takes the lock at once, or waits for it.
  void Acquire(Daemon& daemon, uint64_t id) {
    auto call = std::make_shared<Call>();
    call->id = id;
    core::AcquireRequest request;
    request.name = "a";
    request.lease_id = core::LeaseId::FromBits(id, id);
    request.attempt = 1;
    request.ttl = core::Millis(60'000);
    request.wait_timeout = core::Millis(60'000);
    request.deadline = core::Instant::max();
    daemon.Acquire(call, request, [](auto) {});
  }

  void Release(Daemon& daemon, uint64_t id) {
    core::ReleaseRequest request;
    request.name = "a";
    request.lease_id = core::LeaseId::FromBits(id, id);
    request.deadline = core::Instant::max();
    daemon.Release(std::make_shared<Call>(), request, [](auto) {});
  }

  void Run() { executor_.AdvanceBy(core::Millis(10)); }

  CompiledScripts lua_;
  support::SeededRandom random_;
  Replicas replicas_;
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  Judge judge_{kRecordRetention};
  support::RedisModel server_{lua_, clock_};
  LineWatch watch_{server_, clock_, judge_};
};

// Of two daemons one stood still, and knows only the epoch before. Both are asked.
TEST_F(LineWatchTest, QuarantineEndsThoughSomebodyElseWasAskedToEndAnOlderOne) {
  Daemon daemon({server_, clock_, executor_, judge_, watch_, true, false, replicas_}, 1,
                random_.Fork());
  executor_.AdvanceBy(core::Millis(3'000));
  Acquire(daemon, 1);
  Run();
  judge_.StoreLost(Forgot::kSome, clock_.Now());
  server_.Flush();
  watch_.StoreChanged();
  executor_.AdvanceBy(core::Millis(1'500));
  ASSERT_EQ(daemon.epoch(), 2);

  watch_.QuarantineIsToEnd(2);
  daemon.EndQuarantine(2);
  watch_.QuarantineIsToEnd(1);
  Run();
  Acquire(daemon, 2);
  Run();
  const std::string key = "lk:{a}";
  EXPECT_EQ(server_.Execute(std::vector<std::string_view>{"EXISTS", key}).integer, 1)
      << "the quarantine is over";
  EXPECT_THAT(judge_.violations(),
              testing::Not(testing::Contains(testing::HasSubstr("quarantine"))));
}

// The first gets the lock and the second joins the line, in one script call. A record shows only
// what the call left.
TEST_F(LineWatchTest, AcquiresThatShareACallAreJudgedInTheirOrder) {
  const auto daemon = NewDaemon(1);
  const auto gone = NewDaemon(2);
  Acquire(*daemon, 1);
  Run();
  Acquire(*gone, 2);
  Run();
  judge_.DaemonGone(gone->id(), clock_.Now());
  gone->Kill();
  Release(*daemon, 1);
  Run();  // The lock is free, with a line: that of the daemon that is gone.

  Acquire(*daemon, 3);
  Acquire(*daemon, 4);
  Run();

  EXPECT_THAT(judge_.violations(), testing::IsEmpty());
  EXPECT_EQ(daemon->outstanding(), 2U) << "one that waits, and its operation";
}

// What a script with a defect would leave.
TEST_F(LineWatchTest, HolderThatHasItsLeaseBackAndStandsInLineIsAViolation) {
  const std::string id(32, 'a');
  const std::string member = "i" + id;
  const std::vector<std::string_view> stand = {"ZADD", "lk:{a}:line", "-7", member};
  server_.Execute(stand);
  const std::string who = id + " 12345678";
  const std::vector<std::string_view> words = {"EVALSHA",
                                               redis::kReassertScript.ForKeys(2).sha1,
                                               "3",
                                               "lk:{a}",
                                               "lk:{a}:line",
                                               "lk:store",
                                               "0",
                                               "60000",
                                               "0000000002",
                                               "2",
                                               "",
                                               "",
                                               "0",
                                               "0",
                                               "0",
                                               who,
                                               "0000000000000001",
                                               "00001000",
                                               "00000000",
                                               "0000000000000000",
                                               "0000000000000009",
                                               "0000000000000000",
                                               "",
                                               "",
                                               ""};
  redis::Reply reply;
  reply.type = redis::Reply::Type::kArray;
  for (const int64_t number : {5, 1, 1, 1'000'000, 1'000}) {
    reply.items.emplace_back();
    reply.items.back().type = redis::Reply::Type::kInteger;
    reply.items.back().integer = number;
  }

  watch_.Executed(server_, "0000000000000001", words, reply);

  EXPECT_THAT(judge_.violations(), testing::Contains(testing::HasSubstr("still stands in line")));
}

TEST_F(LineWatchTest, LeaseIsConfirmedToItsDaemonOnlyOnceForEachEnd) {
  const auto daemon = NewDaemon(1);
  const auto other = NewDaemon(2);
  Acquire(*daemon, 1);
  Run();
  const core::Instant granted = daemon->redis_link().lease_confirmed();
  EXPECT_GT(granted, support::ManualClock().Now());

  Acquire(*daemon, 1);  // Once more.
  Run();

  EXPECT_EQ(daemon->redis_link().lease_confirmed(), core::Instant::min());
  Acquire(*other, 2);
  Run();
  EXPECT_EQ(other->redis_link().lease_confirmed(), core::Instant::min()) << "it waits";
}

}  // namespace
}  // namespace lockkeeper::simulation
