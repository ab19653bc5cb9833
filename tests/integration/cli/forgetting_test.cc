// SPDX-License-Identifier: Apache-2.0
//
// The command line when Redis loses everything.
#include <gmock/gmock.h>

#include <functional>
#include <string>

#include "integration/cli/daemon_fixture.h"

namespace lockkeeper {
namespace {

using support::CliResult;

class CliForgettingTest : public CliDaemonTest {
 protected:
  // Leases of a test are so long that a quarantine outlasts the 5 s for which a command that does
  // not wait is tried.
  static constexpr const char* kLong = "12s";

  void ExpectQuarantined(const CliResult& result) const {
    EXPECT_EQ(result.exit_code, 69);
    EXPECT_EQ(Json(result).Text("reason"), "STORE_QUARANTINED") << result.out;
    EXPECT_GT(Json(result).Number("retry_delay_ms"), 0) << result.out;
  }

  // `run` with a lease that is shorter than the quarantine.
  void RunThroughALoss(const std::function<void()>& lose) const {
    const Gate gate;
    const auto run = Start({"run", "report", "--ttl", "9s", "--grace", "100ms", "--", "/bin/sh",
                            "-c", "echo up; " + gate.Wait() + "; exit 3"});
    ASSERT_TRUE(run->WaitForOutput("up"));
    const int64_t token = Look("report").fencing_token();
    Hold("other", kLong);

    lose();

    ExpectQuarantined(RunJson({"acquire", "third"}));
    for (const char* command : {"is-held", "get"}) {
      EXPECT_EQ(Run({command, "third"}).exit_code, 69) << "its holder may come back: " << command;
    }
    const Json listed(RunJson({"list"}));
    EXPECT_GT(listed.Number("quarantine_left_ms"), 0) << "locks may be missing";
    EXPECT_NE(Run({"list"}).out.find("whether others are held is not known for another "),
              std::string::npos);
    EXPECT_EQ(RunJson({"acquire", "third", "--wait", "25s"}).exit_code, 0);
    EXPECT_FALSE(Json(RunJson({"list"})).Has("quarantine_left_ms"));
    const CliResult contention = RunJson({"acquire", "report"});
    EXPECT_EQ(contention.exit_code, 75) << contention.out;
    EXPECT_EQ(Json(contention).Text("reason"), "HELD");
    EXPECT_EQ(Look("report").fencing_token(), token);
    gate.Open();
    EXPECT_EQ(run->Wait().exit_code, 3);

    const CliResult next = RunJson({"acquire", "report"});
    EXPECT_EQ(next.exit_code, 0) << next.out;
    EXPECT_GT(Json(next).Number("fencing_token"), token);
  }
};

TEST_F(CliForgettingTest, QuarantineThatIsKnownToBeNeedlessIsEndedForAllDaemons) {
  Hold("report", kLong);
  redis_.Run({"FLUSHALL"});
  ExpectQuarantined(RunJson({"acquire", "report"}));
  const auto other = StartDaemon();
  const auto acquire_there = [&] {
    return support::RunCli(LOCKKEEPER_PROGRAM, other->GrpcAddress(),
                           {"--output", "json", "acquire", "report"});
  };
  ExpectQuarantined(acquire_there());

  const std::vector<std::string> end = {"end-quarantine", "--reason", "all jobs are stopped"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), end.begin(), end.end());
    return RunJson(more);
  };
  EXPECT_EQ(with({"--epoch", "2"}).exit_code, 64) << "it says what is risked";
  const CliResult older = with({"--epoch", "1", "--accept-two-holders"});
  EXPECT_EQ(older.exit_code, 76) << older.out;
  EXPECT_EQ(Json(older).Text("outcome"), "no_quarantine");
  EXPECT_EQ(Json(older).Number("epoch"), 2);
  EXPECT_THAT(Json(older).Text("message"), testing::HasSubstr("in epoch 2, not 1, quarantined"));
  const CliResult ended = with({"--epoch", "2", "--accept-two-holders"});
  EXPECT_EQ(ended.exit_code, 0) << ended.out;
  EXPECT_EQ(Json(ended).Text("outcome"), "quarantine_ended");
  EXPECT_GT(Json(ended).Number("quarantine_left_ms"), 5'000);

  EXPECT_EQ(acquire_there().exit_code, 0);
  EXPECT_EQ(RunJson({"acquire", "third"}).exit_code, 0);
}

TEST_F(CliForgettingTest, CommandOfRunGoesOnWhenRedisIsFlushed) {
  RunThroughALoss([this] { redis_.Run({"FLUSHALL"}); });
}

TEST_F(CliForgettingTest, CommandOfRunGoesOnWhenRedisStartsEmpty) {
  RunThroughALoss([this] { redis_.Restart(support::Data::kLose); });
}

// It ends before the next renewal, which would have told the store of its lease.
TEST_F(CliForgettingTest, CommandOfRunThatEndsRightAfterTheLossIsNotHeldUp) {
  const Gate gate;
  const auto run = Start({"run", "report", "--ttl", "1m", "--output", "json", "--", "/bin/sh", "-c",
                          "echo up; " + gate.Wait() + "; exit 3"});
  ASSERT_TRUE(run->WaitForOutput("up"));

  redis_.Run({"FLUSHALL"});
  gate.Open();

  const CliResult result = run->Wait();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(Json(result).Text("outcome"), "not_released") << result.out;
  EXPECT_EQ(Json(result).Text("reason"), "NOT_HOLDER") << result.out;
}

TEST_F(CliForgettingTest, ExtendTakesALeaseBackWithWhatAcquirePrinted) {
  const Json granted(RunJson({"acquire", "report", "--ttl", kLong}));
  const std::string id = granted.Text("lease_id");
  const std::string token = std::to_string(granted.Number("fencing_token"));
  const std::string wrong_token = std::to_string(granted.Number("fencing_token") + 1);
  const std::string proof = granted.Text("reassertion");

  redis_.Run({"FLUSHALL"});

  ExpectQuarantined(RunJson({"extend", "report", id}));
  const CliResult forged =
      RunJson({"extend", "report", id, "--token", wrong_token, "--reassertion", proof});
  EXPECT_EQ(forged.exit_code, 70) << forged.out;
  const CliResult extended =
      RunJson({"extend", "report", id, "--token", token, "--reassertion", proof});
  EXPECT_EQ(extended.exit_code, 0) << extended.out;
  EXPECT_EQ(Look("report").state(), admin::v1::LOCK_STATE_HELD);
  EXPECT_EQ(Run({"release", "report", id}).exit_code, 0);
}

}  // namespace
}  // namespace lockkeeper
