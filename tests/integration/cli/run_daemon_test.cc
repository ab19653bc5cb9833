// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run` against real daemons.
#include <gmock/gmock.h>
#include <google/protobuf/util/time_util.h>
#include <signal.h>

#include "integration/cli/daemon_fixture.h"

namespace lockkeeper {
namespace {

using support::CliResult;
using testing::HasSubstr;

class CliRunDaemonTest : public CliDaemonTest {
 protected:
  // Words of `run OPTIONS report -- sh -c SCRIPT`.
  static Words RunWords(const std::string& script, Words options = {}) {
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"report", "--", "/bin/sh", "-c", script});
    return options;
  }

  const Gate gate_;
};

TEST_F(CliRunDaemonTest, CommandRunsUnderTheLockWhichIsFreeAfterIt) {
  const auto run =
      Start(RunWords("echo up $LOCKKEEPER_FENCING_TOKEN; " + gate_.Wait() + "; exit 3"));
  ASSERT_TRUE(run->WaitForOutput("up"));
  const admin::v1::Lock lock = Look("report");
  EXPECT_EQ(lock.state(), admin::v1::LOCK_STATE_HELD);
  EXPECT_EQ(Run({"acquire", "report"}).exit_code, 75);

  gate_.Open();
  const CliResult result = run->Wait();

  EXPECT_EQ(result.exit_code, 3);
  EXPECT_EQ(result.out, "up " + std::to_string(lock.fencing_token()) + "\n");
  EXPECT_NE(Look("report").state(), admin::v1::LOCK_STATE_HELD);
}

TEST_F(CliRunDaemonTest, JsonSaysHowItEnded) {
  const CliResult ended = Run(RunWords("echo mine; exit 4", {"--output", "json"}));
  EXPECT_EQ(ended.exit_code, 4);
  EXPECT_TRUE(ended.out.starts_with("mine\n")) << ended.out;
  EXPECT_EQ(Json(ended).Text("outcome"), "released");
  EXPECT_EQ(Json(ended).Number("exit_code"), 4);
  EXPECT_GT(Json(ended).Number("fencing_token"), 0);

  const CliResult missing = RunJson({"run", "report", "--", "lockkeeper-no-such-program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_EQ(Json(missing).Text("reason"), "COMMAND_NOT_STARTED");
}

TEST_F(CliRunDaemonTest, CommandDoesNotRunWhileSomebodyElseHasTheLock) {
  Hold("report");

  const CliResult plain = Run(RunWords("echo ran"));
  const CliResult chosen = Run(RunWords("echo ran", {"--conflict-exit-code", "0"}));
  const CliResult json = RunJson(RunWords("echo ran"));

  EXPECT_EQ(plain.exit_code, 75);
  EXPECT_EQ(plain.out, "");
  EXPECT_THAT(plain.err, HasSubstr("`report` is held by "));
  EXPECT_EQ(chosen.exit_code, 0);
  EXPECT_EQ(chosen.out, "");
  EXPECT_EQ(json.exit_code, 75);
  EXPECT_EQ(Json(json).Text("outcome"), "contention");
}

TEST_F(CliRunDaemonTest, ForcedReleaseStopsTheCommand) {
  const auto run = Start(
      RunWords("echo up; exec sleep 600", {"--ttl", "3s", "--grace", "100ms", "--output", "json"}));
  ASSERT_TRUE(run->WaitForOutput("up"));

  ASSERT_EQ(Run({"force-release", "report", "--reason", "stuck"}).exit_code, 0);
  const CliResult result = run->Wait();

  EXPECT_EQ(result.exit_code, 70);
  EXPECT_EQ(Json(result).Text("outcome"), "lease_lost");
  EXPECT_EQ(Json(result).Text("cause"), "FORCED");
  EXPECT_THAT(Json(result).Text("message"), HasSubstr("an administrator ended it"));
}

TEST_F(CliRunDaemonTest, CommandGoesOnWhenItsDaemonStopsAndThereIsAnother) {
  const auto other = StartDaemon();
  const auto run = Start(RunWords("echo up; " + gate_.Wait() + "; exit 5",
                                  {"--ttl", "6s", "--grace", "100ms", "--server",
                                   daemon_->GrpcAddress(), "--server", other->GrpcAddress()}));
  ASSERT_TRUE(run->WaitForOutput("up"));
  daemon_->Signal(SIGTERM);
  ASSERT_EQ(daemon_->ExitCode(), 0);

  const auto lease_end = [&] {
    return google::protobuf::util::TimeUtil::TimestampToNanoseconds(
        Look(*other, "report").expire_time());
  };
  const int64_t end_by_the_first = lease_end();
  EXPECT_TRUE(support::WaitUntil([&] { return lease_end() > end_by_the_first; }));
  gate_.Open();

  EXPECT_EQ(run->Wait().exit_code, 5);
  EXPECT_NE(Look(*other, "report").state(), admin::v1::LOCK_STATE_HELD);
}

}  // namespace
}  // namespace lockkeeper
