// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run`: what the command gets, what becomes of its status, and of what it leaves
// behind.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "integration/cli/run_fixture.h"

namespace lockkeeper {
namespace {

using support::CliProcess;
using support::CliResult;
using support::IsAlive;
using support::WaitUntil;

TEST_F(CliRunTest, CommandRunsUnderTheLockWithItsEnvironment) {
  const CliResult result =
      Run("echo $LOCKKEEPER_LOCK $LOCKKEEPER_FENCING_TOKEN $LOCKKEEPER_LEASE_ID");

  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "report 1 " + server_.acquire.seen().at(0).lease_id() + "\n");
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(server_.HolderOf("report"), "") << "released when the command ended";
  EXPECT_EQ(server_.acquire.seen()[0].ttl().seconds(), 30);
}

TEST_F(CliRunTest, StatusOfTheCommandIsReturned) {
  struct Case {
    std::string script;
    int exit_code;
  };
  for (const Case& each : {Case{"exit 0", 0}, Case{"exit 7", 7}, Case{"exit 255", 255},
                           Case{"kill -TERM $$", 143}, Case{"kill -KILL $$", 137}}) {
    EXPECT_EQ(Run(each.script).exit_code, each.exit_code) << each.script;
    EXPECT_EQ(server_.HolderOf("report"), "");
  }
}

TEST_F(CliRunTest, CommandThatCannotBeStartedIs127Or126AndLeavesTheLockFree) {
  for (const auto& [program, exit_code] : {std::pair("lockkeeper-no-such-program", 127),
                                           std::pair("/etc/passwd", 126), std::pair("/", 126)}) {
    const CliResult result = support::RunCli(LOCKKEEPER_PROGRAM, server_.address(),
                                             {"run", "report", "--", program, "argument"});
    EXPECT_EQ(result.exit_code, exit_code);
    EXPECT_NE(result.err.find(std::string("cannot start `") + program), std::string::npos)
        << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(server_.HolderOf("report"), "");
  }
}

TEST_F(CliRunTest, WithoutTheLockTheCommandDoesNotRun) {
  server_.Steal("report");

  const CliResult plain = Run("echo ran");
  const CliResult chosen = Run("echo ran", {"--conflict-exit-code", "9"});
  const CliResult json = Run("echo ran", {"--output", "json", "--conflict-exit-code", "0"});

  EXPECT_EQ(plain.exit_code, 75);
  EXPECT_EQ(plain.out, "");
  EXPECT_NE(plain.err.find("held by `thief`"), std::string::npos) << plain.err;
  EXPECT_EQ(chosen.exit_code, 9);
  EXPECT_EQ(json.exit_code, 0);
  EXPECT_TRUE(json.out.starts_with(R"({"outcome":"contention","name":"report")")) << json.out;
}

TEST_F(CliRunTest, WaitIsAskedOfTheServerAndItsRefusalPassedOn) {
  server_.acquire.NextError({.code = grpc::StatusCode::INVALID_ARGUMENT,
                             .reason = "INVALID_FIELD",
                             .field = "wait_timeout"});

  const CliResult result = Run("echo ran", {"--wait", "3s"});

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(server_.acquire.seen()[0].wait_timeout().seconds(), 3);
}

TEST_F(CliRunTest, GraceThatDoesNotFitTheTtlNamesBoth) {
  const CliResult result = Run("echo ran", {"--ttl", "8s", "--grace", "5s"});

  EXPECT_EQ(result.exit_code, 64);
  EXPECT_NE(result.err.find("--grace 5s"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("--ttl 8s"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("at most 4s"), std::string::npos) << result.err;
  EXPECT_EQ(server_.acquire.seen().size(), 0u);
}

TEST_F(CliRunTest, TtlThatIsTooShortIsToldWithTheShortest) {
  const CliResult result = Run("echo ran", {"--ttl", "100ms"});

  EXPECT_EQ(result.exit_code, 64);
  EXPECT_NE(result.err.find("--ttl 100ms is too short for `run`"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("it must be at least 248ms"), std::string::npos) << result.err;
  EXPECT_EQ(Run("true", {"--ttl", "247ms"}).exit_code, 64);
  EXPECT_EQ(server_.acquire.seen().size(), 0u);
}

TEST_F(CliRunTest, JsonIsTheLastLineOnStdout) {
  const CliResult ended = Run("echo mine; exit 3", {"--output", "json"});
  EXPECT_EQ(ended.exit_code, 3);
  EXPECT_EQ(ended.out,
            "mine\n"
            R"({"outcome":"released","name":"report","fencing_token":1,"exit_code":3})"
            "\n");

  const CliResult missing =
      support::RunCli(LOCKKEEPER_PROGRAM, server_.address(),
                      {"--output", "json", "run", "report", "--", "lockkeeper-no-such-program"});
  EXPECT_EQ(missing.exit_code, 127);
  EXPECT_TRUE(missing.out.starts_with(
      R"({"outcome":"error","name":"report","reason":"COMMAND_NOT_STARTED")"))
      << missing.out;
  EXPECT_EQ(std::count(missing.out.begin(), missing.out.end(), '\n'), 1);
}

TEST_F(CliRunTest, FailedReleaseIsToldButTheStatusStaysTheCommands) {
  server_.release.Always([&](const support::FakeCall&, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestRelease(request, response).ok());
    response->set_released(false);
    response->set_reason(v1::NOT_RELEASED_REASON_EXPIRED);
    return grpc::Status::OK;
  });

  const CliResult text = Run("exit 4");
  const CliResult json = Run("exit 4", {"--output=json"});

  EXPECT_EQ(text.exit_code, 4);
  EXPECT_NE(text.err.find("was not released"), std::string::npos) << text.err;
  EXPECT_EQ(json.exit_code, 4);
  EXPECT_TRUE(json.out.starts_with(R"({"outcome":"not_released")")) << json.out;
}

TEST_F(CliRunTest, ReleaseWithoutAnAnswerIsToldWithHowLongTheLockMayStayHeld) {
  server_.release.Always([&](const support::FakeCall& call, const auto& request, auto* response) {
    EXPECT_TRUE(server_.HonestRelease(request, response).ok());
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });

  const CliResult text = Run("exit 4", {"--ttl", "20s", "--timeout", "200ms"});
  const CliResult json = Run("exit 4", {"--output=json", "--timeout", "200ms"});

  EXPECT_EQ(text.exit_code, 4);
  EXPECT_NE(text.err.find("the lock stays held until its lease ends, for at most 20s"),
            std::string::npos)
      << text.err;
  EXPECT_EQ(text.err.find("background"), std::string::npos) << text.err;
  EXPECT_NE(json.out.find(R"("reason":"DEADLINE_EXCEEDED")"), std::string::npos) << json.out;
}

TEST_F(CliRunTest, CommandInheritsNoDescriptorOfOurs) {
  // `ls` itself has the folder open as one more.
  const CliResult result = Run("exec ls /proc/self/fd");

  EXPECT_EQ(result.out, "0\n1\n2\n3\n");
}

TEST_F(CliRunTest, CommandLeadsAProcessGroupOfItsOwn) {
  const CliProcess process = Start("echo up $$; exec sleep 1000");
  const pid_t command = NumberAfter(process, "up");

  EXPECT_EQ(getpgid(command), command);
  EXPECT_NE(getpgid(process.pid()), command);
}

TEST_F(CliRunTest, LongCommandKeepsItsLease) {
  CliProcess process = Start("echo up $$; exec sleep 1000", {"--ttl", "3s", "--grace", "100ms"});

  EXPECT_TRUE(server_.extend.WaitForCalls(4));
  EXPECT_TRUE(IsAlive(NumberAfter(process, "up")));
  process.Signal(SIGTERM);

  EXPECT_EQ(process.Wait().exit_code, 143);
}

TEST_F(CliRunTest, WhatTheCommandLeavesInItsGroupIsStoppedBeforeTheRelease) {
  struct Look {
    std::atomic<pid_t> group = 0;
    std::atomic<bool> alive_at_release = true;
  };
  const auto look = std::make_shared<Look>();
  server_.release.Always([this, look](const support::FakeCall&, const auto& request, auto* answer) {
    look->alive_at_release = IsAlive(-look->group);
    return server_.HonestRelease(request, answer);
  });
  // The shell ends only when a line comes from its child, so that the test knows the group before.
  CliProcess process = Start("trap 'exit 3' USR1; sleep 1000 & echo up $$; while :; do wait; done");
  look->group = NumberAfter(process, "up");
  process.Signal(SIGUSR1);

  EXPECT_EQ(process.Wait().exit_code, 3);
  EXPECT_FALSE(look->alive_at_release);
}

TEST_F(CliRunTest, LeftoverThatIgnoresTermIsKilledAfterTheGrace) {
  CliProcess process = Start(
      "trap 'exit 3' USR1; (trap '' TERM; echo ignoring; exec sleep 1000) & echo up $$; "
      "while :; do wait; done",
      {"--grace", "50ms"});
  const pid_t group = NumberAfter(process, "up");
  ASSERT_TRUE(process.WaitForOutput("ignoring"));
  process.Signal(SIGUSR1);

  EXPECT_EQ(process.Wait().exit_code, 3);
  EXPECT_FALSE(IsAlive(-group));
}

TEST_F(CliRunTest, GrandchildInASessionOfItsOwnIsLeftAlone) {
  CliProcess process = Start("setsid sh -c 'echo up $$; exec sleep 1000' & wait $!");
  const pid_t escaped = NumberAfter(process, "up");
  process.Signal(SIGTERM);

  EXPECT_EQ(process.Wait().exit_code, 143);
  EXPECT_TRUE(IsAlive(escaped));
  kill(escaped, SIGKILL);
}

}  // namespace
}  // namespace lockkeeper
