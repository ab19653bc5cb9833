// SPDX-License-Identifier: Apache-2.0
//
// `--wait` against two real daemons on one store: the line, and what becomes of a place in it when
// a daemon stops.
#include <gmock/gmock.h>
#include <signal.h>

#include "integration/cli/daemon_fixture.h"
#include "redis/node/reply.h"
#include "support/process/line_member.h"

namespace lockkeeper {
namespace {

using support::CliProcess;
using support::CliResult;
using support::DaemonProcess;
using support::WaitUntil;
using testing::HasSubstr;

class CliWaitingTest : public CliDaemonTest {
 protected:
  // Starts a program that may use both daemons, the one that is to stop first.
  std::unique_ptr<CliProcess> StartAtBoth(Words words) const {
    words.insert(words.begin(),
                 {"--server", stopping_->GrpcAddress(), "--server", daemon_->GrpcAddress()});
    return Start(words);
  }

  // Whether a waiter stands in the line of `name` that came more than once.
  bool HasResumed(const std::string& name) const {
    const redis::Reply line = redis_.Run({"ZRANGE", "lk:{" + name + "}:line", "0", "-1"});
    for (const redis::Reply& member : line.items) {
      if (support::AttemptInLine(member.text) > 1) return true;
    }
    return false;
  }

  int64_t KeysOf(const std::string& pattern) const {
    return static_cast<int64_t>(redis_.Run({"KEYS", pattern}).items.size());
  }

  std::unique_ptr<DaemonProcess> stopping_ = StartDaemon();
};

TEST_F(CliWaitingTest, AcquireWaitsForItsTurn) {
  const std::string holder = Hold("report");
  const auto waiting = Start({"acquire", "report", "--wait", "30s", "--output", "json"});
  ASSERT_TRUE(WaitForWaiters("report", 1));

  ASSERT_EQ(Run({"release", "report", holder}).exit_code, 0);
  const CliResult result = waiting->Wait();

  EXPECT_EQ(result.exit_code, 0) << result.out;
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "granted");
  EXPECT_GT(json.Number("waited_ms"), 0);
  EXPECT_GT(json.Number("remaining_ttl_ms"), 20'000) << "a lease, and no offer";
  EXPECT_EQ(Run({"extend", "report", json.Text("lease_id")}).exit_code, 0);
}

TEST_F(CliWaitingTest, AcquireGoesOnInItsPlaceWhenItsDaemonIsStopped) {
  const std::string holder = Hold("report");
  const auto first = StartAtBoth({"acquire", "report", "--wait", "30s", "--output", "json"});
  ASSERT_TRUE(WaitForWaiters("report", 1));
  const auto later = Start({"acquire", "report", "--wait", "30s", "--output", "json"});
  ASSERT_TRUE(WaitForWaiters("report", 2));

  stopping_->Signal(SIGTERM);
  ASSERT_EQ(stopping_->ExitCode(), 0);
  ASSERT_TRUE(WaitUntil([&] { return HasResumed("report"); }));
  ASSERT_EQ(Run({"release", "report", holder}).exit_code, 0);
  const CliResult firsts = first->Wait();
  ASSERT_EQ(firsts.exit_code, 0) << firsts.out;
  const Json granted(firsts);
  EXPECT_EQ(later->out(), "") << "still in line behind it";
  ASSERT_EQ(Run({"release", "report", granted.Text("lease_id")}).exit_code, 0);
  const CliResult laters = later->Wait();

  EXPECT_EQ(laters.exit_code, 0) << laters.out;
  EXPECT_GT(Json(laters).Number("fencing_token"), granted.Number("fencing_token"));
}

TEST_F(CliWaitingTest, AcquireGoesOnInItsPlaceWhenItsDaemonIsKilled) {
  const std::string holder = Hold("report");
  const auto first = StartAtBoth({"acquire", "report", "--wait", "30s", "--output", "json"});
  ASSERT_TRUE(WaitForWaiters("report", 1));
  const auto later = Start({"acquire", "report", "--wait", "30s", "--output", "json"});
  ASSERT_TRUE(WaitForWaiters("report", 2));

  stopping_->Signal(SIGKILL);
  ASSERT_TRUE(WaitUntil([&] { return HasResumed("report"); }));
  ASSERT_EQ(Run({"release", "report", holder}).exit_code, 0);
  const CliResult firsts = first->Wait();

  EXPECT_EQ(firsts.exit_code, 0) << firsts.out;
  EXPECT_EQ(later->out(), "");
  EXPECT_EQ(Look("report").fencing_token(), Json(firsts).Number("fencing_token"));
}

TEST_F(CliWaitingTest, WaitThatEndsIs75AndSaysThePlace) {
  ASSERT_EQ(Run({"acquire", "report", "--owner", "alice"}).exit_code, 0);
  const auto longer = Start({"acquire", "report", "--wait", "30s"});
  ASSERT_TRUE(WaitForWaiters("report", 1));

  const CliResult result = RunJson({"acquire", "report", "--wait", "1s"});
  const CliResult text = Run({"acquire", "report", "--wait", "1s"});

  EXPECT_EQ(result.exit_code, 75);
  const Json json(result);
  EXPECT_EQ(json.Text("outcome"), "contention");
  EXPECT_EQ(json.Text("reason"), "WAIT_TIMED_OUT");
  EXPECT_EQ(json.Number("position"), 2);
  EXPECT_GE(json.Number("waiters"), 1);
  EXPECT_EQ(text.exit_code, 75);
  EXPECT_THAT(text.out, HasSubstr("`report` is still held by `alice` at the end of the wait"));
  EXPECT_TRUE(WaitForWaiters("report", 1)) << "only the one that waits on";
}

TEST_F(CliWaitingTest, SignalLeavesTheLine) {
  Hold("report");
  const auto waiting = Start({"acquire", "report", "--wait", "30s"});
  ASSERT_TRUE(WaitForWaiters("report", 1));

  waiting->Signal(SIGINT);
  const CliResult result = waiting->Wait();

  EXPECT_EQ(result.exit_code, 130);
  EXPECT_THAT(result.err, HasSubstr("the place in line is given up"));
  EXPECT_EQ(Look("report").waiters(), 0);
  EXPECT_EQ(KeysOf("*:line"), 0);
}

TEST_F(CliWaitingTest, ReleaseOfAWaitersLeaseIdEndsItsAcquire) {
  const std::string id = "0123456789abcdef0123456789abcdef";
  Hold("report");
  const auto waiting =
      Start({"acquire", "report", "--wait", "30s", "--lease-id", id, "--output", "json"});
  ASSERT_TRUE(WaitForWaiters("report", 1));

  const CliResult released = RunJson({"release", "report", id});
  const CliResult ended = waiting->Wait();

  EXPECT_EQ(released.exit_code, 76);
  EXPECT_EQ(Json(released).Text("reason"), "WAITER_REMOVED");
  EXPECT_EQ(ended.exit_code, 75);
  EXPECT_EQ(Json(ended).Text("reason"), "CANCELLED");
}

TEST_F(CliWaitingTest, RunWaitsAndThenRuns) {
  const std::string holder = Hold("report");
  const auto run = Start({"run", "report", "--wait", "30s", "--", "/bin/sh", "-c", "echo ran"});
  ASSERT_TRUE(WaitForWaiters("report", 1));
  EXPECT_EQ(run->out(), "");

  ASSERT_EQ(Run({"release", "report", holder}).exit_code, 0);
  const CliResult result = run->Wait();

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "ran\n");
  EXPECT_NE(Look("report").state(), admin::v1::LOCK_STATE_HELD);
}

TEST_F(CliWaitingTest, RunGoesOnWaitingWhenItsDaemonIsStopped) {
  const std::string holder = Hold("report");
  const auto run =
      StartAtBoth({"run", "report", "--wait", "30s", "--", "/bin/sh", "-c", "echo ran"});
  ASSERT_TRUE(WaitForWaiters("report", 1));

  stopping_->Signal(SIGTERM);
  ASSERT_EQ(stopping_->ExitCode(), 0);
  ASSERT_EQ(Run({"release", "report", holder}).exit_code, 0);

  const CliResult result = run->Wait();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "ran\n");
}

TEST_F(CliWaitingTest, RunWhoseWaitEndsDoesNotRun) {
  Hold("report");

  const CliResult result =
      Run({"run", "report", "--wait", "1s", "--", "/bin/sh", "-c", "echo ran"});
  const CliResult chosen = RunJson({"run", "report", "--wait", "1s", "--conflict-exit-code", "9",
                                    "--", "/bin/sh", "-c", "echo ran"});

  EXPECT_EQ(result.exit_code, 75);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("` at the end of the wait"));
  EXPECT_EQ(chosen.exit_code, 9);
  EXPECT_EQ(Json(chosen).Text("reason"), "WAIT_TIMED_OUT");
  EXPECT_EQ(Json(chosen).Number("position"), 1);
}

TEST_F(CliWaitingTest, SignalWhileRunWaitsLeavesTheLine) {
  Hold("report");
  const auto run = Start({"run", "report", "--wait", "30s", "--", "/bin/sh", "-c", "echo ran"});
  ASSERT_TRUE(WaitForWaiters("report", 1));

  run->Signal(SIGTERM);
  const CliResult result = run->Wait();

  EXPECT_EQ(result.exit_code, 143);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(Look("report").waiters(), 0);
}

}  // namespace
}  // namespace lockkeeper
