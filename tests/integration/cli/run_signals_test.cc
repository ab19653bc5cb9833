// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run`: signals are passed on, and whatever is killed, the command does not go on
// without the lock.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <string>

#include "integration/cli/run_fixture.h"

namespace lockkeeper {
namespace {

using support::CliProcess;
using support::IsAlive;
using support::WaitUntil;

// The guardian: the only child of run.
pid_t GuardianOf(const CliProcess& process) {
  const std::string pid = std::to_string(process.pid());
  std::ifstream children("/proc/" + pid + "/task/" + pid + "/children");
  pid_t guardian = 0;
  children >> guardian;
  return guardian;
}

using CliRunSignalsTest = CliRunTest;

TEST_F(CliRunSignalsTest, SignalsArePassedOnToTheCommand) {
  std::string script;
  for (const char* name : {"HUP", "INT", "TERM", "QUIT", "USR1", "USR2", "WINCH"}) {
    script += std::string("trap 'echo got ") + name + "' " + name + "; ";
  }
  CliProcess process = Start(script + "echo up $$; while :; do sleep 0.01; done");
  const pid_t command = NumberAfter(process, "up");
  struct Signal {
    int number;
    const char* name;
  };
  for (const Signal& signal :
       {Signal{SIGHUP, "HUP"}, Signal{SIGINT, "INT"}, Signal{SIGTERM, "TERM"},
        Signal{SIGQUIT, "QUIT"}, Signal{SIGUSR1, "USR1"}, Signal{SIGUSR2, "USR2"},
        Signal{SIGWINCH, "WINCH"}}) {
    process.Signal(signal.number);
    EXPECT_TRUE(process.WaitForOutput(std::string("got ") + signal.name)) << process.out();
  }
  EXPECT_TRUE(IsAlive(command));
  kill(command, SIGKILL);

  EXPECT_EQ(process.Wait().exit_code, 137);
}

TEST_F(CliRunSignalsTest, TermEndsTheWholeGroupOfACommandThatDoesNotMind) {
  CliProcess process = Start("sleep 1000 & sleep 1000 & echo up $$; wait");
  const pid_t group = NumberAfter(process, "up");

  process.Signal(SIGTERM);

  EXPECT_EQ(process.Wait().exit_code, 143);
  EXPECT_FALSE(IsAlive(-group));
  EXPECT_EQ(server_.HolderOf("report"), "");
}

TEST_F(CliRunSignalsTest, SignalThatWasIgnoredAtTheStartIsNotPassedOn) {
  // As under nohup: run starts with SIGHUP ignored, and so does the command.
  CliProcess process("/bin/sh", server_.address(),
                     {"-c", std::string("trap '' HUP; exec ") + LOCKKEEPER_PROGRAM +
                                " run report -- sh -c 'echo up $$; exec sleep 1000'"});
  const pid_t command = NumberAfter(process, "up");

  process.Signal(SIGHUP);
  process.Signal(SIGTERM);

  EXPECT_EQ(process.Wait().exit_code, 143) << "129 if SIGHUP had been passed on";
  EXPECT_FALSE(IsAlive(command));
}

TEST_F(CliRunSignalsTest, SignalWhileTheLockIsAcquiredEndsRunAndReleases) {
  server_.acquire.Next([&](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  CliProcess process = Start("echo ran");
  ASSERT_TRUE(server_.acquire.WaitForCalls(1));

  process.Signal(SIGINT);

  const support::CliResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(server_.release.seen().size(), 1u);
}

TEST_F(CliRunSignalsTest, KillOfRunKillsTheCommandAndItsGrandchildren) {
  CliProcess process = Start(
      "trap '' TERM HUP INT; sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' & echo up $$; wait");
  const pid_t group = NumberAfter(process, "up");
  const pid_t guardian = GuardianOf(process);
  ASSERT_NE(guardian, 0);
  ASSERT_TRUE(IsAlive(-group));

  process.Signal(SIGKILL);

  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(-group); }));
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(guardian); })) << "the guardian ends as well";
}

TEST_F(CliRunSignalsTest, KillOfTheWholeGroupOfRunKillsTheCommand) {
  // A job of its own, as a shell makes it.
  CliProcess process(
      "/usr/bin/setsid", server_.address(),
      {LOCKKEEPER_PROGRAM, "run", "report", "--", "sh", "-c", "sleep 1000 & echo up $$; wait"});
  const pid_t group = NumberAfter(process, "up");
  ASSERT_EQ(getpgid(process.pid()), process.pid());

  kill(-process.pid(), SIGKILL);

  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(-group); }));
}

TEST_F(CliRunSignalsTest, GuardianDoesNotLookLikeTheCommand) {
  CliProcess process = Start("echo up $$; sleep 1000");
  ASSERT_NE(NumberAfter(process, "up"), 0);

  std::ifstream file("/proc/" + std::to_string(GuardianOf(process)) + "/cmdline");
  std::string title;
  std::getline(file, title, '\0');

  EXPECT_TRUE(title.starts_with("lockkeeper-run: guardian of ")) << title;
  std::string rest{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(rest.find_first_not_of('\0'), std::string::npos) << rest;
}

TEST_F(CliRunSignalsTest, KillOfTheGuardianKillsTheCommandAndEndsRun) {
  CliProcess process = Start("sleep 1000 & echo up $$; wait");
  const pid_t group = NumberAfter(process, "up");
  const pid_t guardian = GuardianOf(process);
  ASSERT_NE(guardian, 0);  // Would be the test's own group.
  ASSERT_NE(guardian, group);

  kill(guardian, SIGKILL);

  EXPECT_EQ(process.Wait().exit_code, 1);
  EXPECT_TRUE(WaitUntil([&] { return !IsAlive(-group); }));
  EXPECT_EQ(server_.HolderOf("report"), "");
}

// The guardian is killed at any moment of the start: either the command never runs, or it is killed
// with its group.
TEST_F(CliRunSignalsTest, KillOfTheGuardianAtTheStartLeavesNothingRunning) {
  for (int round = 0; round < 20; ++round) {
    CliProcess process = Start("sleep 1000 & echo up $$; wait");
    pid_t guardian = 0;
    ASSERT_TRUE(WaitUntil([&] { return (guardian = GuardianOf(process)) != 0; }));
    EXPECT_TRUE(server_.acquire.WaitForCalls(static_cast<size_t>(round) + 1));
    for (int i = 0; i < round; ++i) support::PauseBetweenLooks();

    kill(guardian, SIGKILL);

    EXPECT_EQ(process.Wait().exit_code, 1);
    const std::string out = process.out();
    if (out.starts_with("up ") && out.ends_with("\n")) {
      const pid_t group = std::stoi(out.substr(3));
      EXPECT_TRUE(WaitUntil([&] { return !IsAlive(-group); })) << "round " << round;
    }
    EXPECT_EQ(server_.HolderOf("report"), "");
  }
}

TEST_F(CliRunSignalsTest, GuardianCannotBeEndedByOrdinarySignals) {
  CliProcess process = Start("echo up $$; exec sleep 1000");
  const pid_t command = NumberAfter(process, "up");
  const pid_t guardian = GuardianOf(process);
  ASSERT_NE(guardian, 0);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1}) {
    kill(guardian, signal);
  }

  process.Signal(SIGTERM);

  EXPECT_EQ(process.Wait().exit_code, 143);
  EXPECT_FALSE(IsAlive(command));
}

}  // namespace
}  // namespace lockkeeper
