// SPDX-License-Identifier: Apache-2.0
#include "simulation/line_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

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
    return std::make_unique<Daemon>(Daemon::World{server_, clock_, executor_, judge_, watch_},
                                    number, random_.Fork());
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
  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  Judge judge_{kRecordRetention};
  support::RedisModel server_{lua_, clock_};
  LineWatch watch_{server_, clock_, judge_};
};

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

}  // namespace
}  // namespace lockkeeper::simulation
