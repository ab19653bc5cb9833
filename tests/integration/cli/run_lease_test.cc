// SPDX-License-Identifier: Apache-2.0
//
// `lockkeeper run`: a command whose lease is lost is gone before the lease ends. Method: the
// service in this process notes when it granted; its lease ends a ttl later and not before.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "integration/cli/run_fixture.h"
#include "renewal/boot_clock.h"

namespace lockkeeper {
namespace {

using namespace std::chrono_literals;
using client::BootClock;
using client::Instant;
using support::CliProcess;
using support::CliResult;
using support::IsAlive;
using support::WaitUntil;

class CliRunLeaseTest : public CliRunTest {
 protected:
  // The service grants and then never answers an extend.
  void GrantAndFallSilent() {
    server_.acquire.Next([this](const support::FakeCall&, const auto& request, auto* response) {
      granted_at_ = BootClock().Now();
      return server_.HonestAcquire(request, response);
    });
    server_.extend.Always([this](const support::FakeCall& call, const auto&, auto*) {
      server_.UntilCancelled(call);
      return grpc::Status::CANCELLED;
    });
  }

  // Script of a member of the group that says, all the time, when it last ran. The kernel's uptime
  // is CLOCK_BOOTTIME in hundredths of a second.
  static constexpr char kBeating[] =
      "while :; do read up idle </proc/uptime; echo beat $up; sleep 0.01; done";

  // When a word of the script that is followed by the uptime was last said, counted from the grant.
  // Unlike a look from outside it does not depend on when this test gets to run.
  client::Duration LastSaid(const CliProcess& process, const std::string& word) const {
    const std::string out = process.out();
    const size_t at = out.rfind("\n" + word + " ");
    EXPECT_NE(at, std::string::npos) << out;
    const double uptime = std::stod(out.substr(at + word.size() + 2));
    const Instant said(
        std::chrono::duration_cast<client::Duration>(std::chrono::duration<double>(uptime)));
    return said - granted_at_.load();
  }

  static bool IsGone(pid_t group) {
    return WaitUntil([&] { return !IsAlive(-group); });
  }

  std::atomic<Instant> granted_at_{};
};

// What kills the command is a timer of the kernel: it has to be of the clock that goes on while the
// machine sleeps, as the lease does. Method: the kernel tells the clock of each timer.
TEST_F(CliRunLeaseTest, CommandIsKilledInTimeAlsoWhenTheMachineSleeps) {
  CliProcess process = Start("echo up $PPID; exec sleep 1000");
  const pid_t guardian = NumberAfter(process, "up");

  std::vector<std::string> clocks;
  for (const auto& descriptor :
       std::filesystem::directory_iterator("/proc/" + std::to_string(guardian) + "/fdinfo")) {
    std::ifstream info(descriptor.path());
    for (std::string key, value; info >> key >> value;) {
      if (key == "clockid:") clocks.push_back(value);
    }
  }

  EXPECT_EQ(clocks, std::vector{std::to_string(CLOCK_BOOTTIME)});
}

TEST_F(CliRunLeaseTest, CommandIsToldToStopAndThenKilledBeforeTheLeaseEnds) {
  GrantAndFallSilent();
  CliProcess process = Start(std::string("trap 'echo told $up' TERM; echo up $$; ") + kBeating,
                             {"--ttl", "4s", "--grace", "1500ms"});
  const pid_t group = NumberAfter(process, "up");

  ASSERT_TRUE(IsGone(group));
  EXPECT_LT(LastSaid(process, "beat"), 4s) << "killed while the lease was live";
  EXPECT_GT(LastSaid(process, "told"), 500ms) << "not before it had to";
  EXPECT_GT(LastSaid(process, "beat"), LastSaid(process, "told") + 300ms) << "the grace is given";
  const CliResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 70);
  EXPECT_NE(result.err.find("was lost"), std::string::npos) << result.err;
}

TEST_F(CliRunLeaseTest, CommandThatStopsWhenToldIsNotKilled) {
  GrantAndFallSilent();
  CliProcess process =
      Start("trap 'echo cleaned; exit 0' TERM; echo up $$; while :; do sleep 0.01; done",
            {"--ttl", "4s", "--grace", "1500ms", "--output", "json"});

  const CliResult result = process.Wait();

  EXPECT_EQ(result.exit_code, 70);
  EXPECT_NE(result.out.find("cleaned\n{\"outcome\":\"lease_lost\",\"name\":\"report\""),
            std::string::npos)
      << result.out;
}

TEST_F(CliRunLeaseTest, PausedRunDoesNotKeepTheCommandAlive) {
  GrantAndFallSilent();
  CliProcess process = Start(std::string("trap '' TERM; sleep 1000 & echo up $$; ") + kBeating,
                             {"--ttl", "4s", "--grace", "200ms"});
  const pid_t group = NumberAfter(process, "up");

  process.Pause();

  ASSERT_TRUE(IsGone(group));
  EXPECT_LT(LastSaid(process, "beat"), 4s);
  process.Signal(SIGCONT);
  const CliResult result = process.Wait();
  EXPECT_EQ(result.exit_code, 70) << result.err;
}

TEST_F(CliRunLeaseTest, CommandThatStandsStillIsKilledAtTheEndOfItsLease) {
  GrantAndFallSilent();
  CliProcess process =
      Start("trap '' TERM; echo up $$; exec sleep 1000", {"--ttl", "3s", "--grace", "200ms"});
  const pid_t group = NumberAfter(process, "up");

  kill(-group, SIGSTOP);

  EXPECT_TRUE(IsGone(group)) << "nobody continues it";
  EXPECT_EQ(process.Wait().exit_code, 70);
}

TEST_F(CliRunLeaseTest, LeaseThatIsTakenAwayStopsTheCommandAtOnce) {
  CliProcess process = Start("sleep 1000 & echo up $$; wait", {"--ttl", "3s", "--grace", "100ms"});
  const pid_t group = NumberAfter(process, "up");

  server_.Steal("report");

  EXPECT_EQ(process.Wait().exit_code, 70);
  EXPECT_FALSE(IsAlive(-group));
  EXPECT_EQ(server_.release.seen().size(), 0u) << "there is nothing to release";
}

TEST_F(CliRunLeaseTest, ServiceThatComesBackInTimeSavesTheLease) {
  for (int i = 0; i < 5; ++i) server_.extend.NextError({grpc::StatusCode::UNAVAILABLE, ""});
  CliProcess process = Start("echo up $$; exec sleep 1000", {"--ttl", "4s", "--grace", "100ms"});

  EXPECT_TRUE(server_.extend.WaitForCalls(8));
  process.Signal(SIGTERM);

  EXPECT_EQ(process.Wait().exit_code, 143);
}

TEST_F(CliRunLeaseTest, DefaultGraceShrinksToWhatAShortTtlHasRoomFor) {
  EXPECT_EQ(Run("exit 5", {"--ttl", "4s"}).exit_code, 5);
  EXPECT_EQ(Run("exit 5", {"--ttl", "100ms"}).exit_code, 64);
}

}  // namespace
}  // namespace lockkeeper
