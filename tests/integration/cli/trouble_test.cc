// SPDX-License-Identifier: Apache-2.0
//
// What the command line says when something takes long or goes wrong: the cause in plain words,
// while it tries and at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "integration/cli/run_fixture.h"

namespace lockkeeper {
namespace {

using support::CliProcess;
using support::CliResult;
using support::FakeLockServer;
using support::WaitUntil;
using testing::HasSubstr;
using WordList = std::vector<std::string>;

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

// Nobody listens there, and no test that runs beside this one will: the system chooses other ports.
const std::string kNobodysAddress = "127.0.0.1:1";

class CliTroubleTest : public CliRunTest {
 protected:
  CliResult Command(const WordList& words) {
    return support::RunCli(LOCKKEEPER_PROGRAM, server_.address(), words);
  }

  static bool WaitForError(const CliProcess& process, const std::string& text) {
    return WaitUntil([&] { return process.err().find(text) != std::string::npos; });
  }

  // Why a `run` whose lease was lost says it was.
  static void ExpectLost(const CliResult& result, const std::string& cause,
                         const std::string& words) {
    EXPECT_EQ(result.exit_code, 70);
    EXPECT_THAT(result.out, HasSubstr("\"cause\":\"" + cause + "\""));
    EXPECT_THAT(result.out, HasSubstr(words));
  }
};

TEST_F(CliTroubleTest, ServiceThatIsAwayIsToldInTheSameWordsByAll) {
  for (const WordList& words :
       {WordList{"acquire", "x"}, WordList{"extend", "x", kId}, WordList{"release", "x", kId},
        WordList{"fence", "x", "1"}, WordList{"get", "x"}, WordList{"is-held", "x"},
        WordList{"list"}, WordList{"health"}, WordList{"run", "x", "--", "true"}}) {
    WordList away = words;
    away.insert(away.begin(), {"--server", kNobodysAddress, "--timeout", "200ms"});
    const CliResult result = Command(away);

    EXPECT_EQ(result.exit_code, 69) << testing::PrintToString(words);
    EXPECT_EQ(result.err, "lockkeeper: cannot reach " + kNobodysAddress +
                              ": connection refused (UNAVAILABLE)\n  Does lockkeeperd run there? "
                              "--server or LOCKKEEPER_SERVER names another address.\n");
  }
}

TEST_F(CliTroubleTest, TokenFileThatCannotBeReadIsAUsageErrorOfAll) {
  for (const WordList& words : {WordList{"get", "x"}, WordList{"acquire", "x"}, WordList{"watch"},
                                WordList{"doctor"}, WordList{"run", "x", "--", "true"}}) {
    WordList all = words;
    all.insert(all.begin(), {"--token-file", "/nonexist"});
    const CliResult result = Command(all);

    EXPECT_EQ(result.exit_code, 64) << testing::PrintToString(words);
    EXPECT_THAT(result.err, HasSubstr("--token-file (or LOCKKEEPER_TOKEN_FILE): `/nonexist` "));
  }
}

TEST_F(CliTroubleTest, EveryServerThatIsAwayIsNamed) {
  const CliResult result =
      Command({"get", "x", "--server", kNobodysAddress, "--server", "unix:/nowhere"});

  EXPECT_THAT(result.err, HasSubstr("cannot reach " + kNobodysAddress +
                                    ": connection refused; cannot reach "
                                    "unix:/nowhere: no such file or directory"));
}

TEST_F(CliTroubleTest, CauseIsToldWhileItTries) {
  for (const WordList& words : {WordList{"acquire", "x"}, WordList{"release", "x", kId}}) {
    WordList away = words;
    away.insert(away.begin(), {"--server", kNobodysAddress, "--timeout", "20s"});
    CliProcess process(LOCKKEEPER_PROGRAM, "", away);

    EXPECT_TRUE(WaitForError(process, "lockkeeper: cannot reach " + kNobodysAddress +
                                          ": connection refused; trying for 20s\n"));
    process.Signal(SIGKILL);
  }
}

TEST_F(CliTroubleTest, WaitIsToldUnlessItIsToBeQuiet) {
  server_.acquire.Always([this](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  const WordList words = {"acquire", "report", "--wait", "1m"};
  WordList quiet_words = words;
  quiet_words.emplace_back("--quiet");
  CliProcess quiet(LOCKKEEPER_PROGRAM, server_.address(), quiet_words);
  ASSERT_TRUE(server_.acquire.WaitForCalls(1));
  CliProcess loud(LOCKKEEPER_PROGRAM, server_.address(), words);

  EXPECT_TRUE(WaitForError(loud, "lockkeeper: waiting for `report`, for up to 1m\n"));
  EXPECT_EQ(quiet.err(), "") << "it has waited for longer";
  for (CliProcess* process : {&quiet, &loud}) {
    process->Signal(SIGINT);
    EXPECT_EQ(process->Wait().exit_code, 130);
  }
}

TEST_F(CliTroubleTest, QuietRunSaysNothingOfALockThatSomebodyHas) {
  server_.Steal("report");

  EXPECT_EQ(Run("echo ran", {"--quiet"}).err, "");
  EXPECT_EQ(Run("echo ran", {"--quiet"}).exit_code, 75);
}

TEST_F(CliTroubleTest, RunTellsThatRenewalsFailAndThatTheyWorkAgain) {
  server_.extend.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({.code = grpc::StatusCode::UNAVAILABLE,
                              .reason = "STORE_UNAVAILABLE",
                              .message = "Redis is away"});
  });
  CliProcess process = Start("echo up; exec sleep 1000", {"--ttl", "9s", "--grace", "100ms"});

  EXPECT_TRUE(WaitForError(process,
                           "lockkeeper: Redis is away; unless the lease of `report` is "
                           "renewed, the command is stopped in "));
  server_.extend.Always(nullptr);
  EXPECT_TRUE(WaitForError(process, "lockkeeper: the lease of `report` is renewed again\n"));
  process.Signal(SIGTERM);
  EXPECT_EQ(process.Wait().exit_code, 143);
}

TEST_F(CliTroubleTest, LostLeaseTellsItsCause) {
  server_.extend.Always([](const support::FakeCall&, const auto&, auto*) {
    return support::StatusOf({.code = grpc::StatusCode::UNAVAILABLE,
                              .reason = "STORE_UNAVAILABLE",
                              .message = "Redis is away"});
  });
  const WordList short_ttl = {"--ttl", "1s", "--grace", "100ms", "--output", "json"};
  ExpectLost(Run("exec sleep 1000", short_ttl), "NOT_RENEWED",
             "the lease of `report` was lost: it could not be renewed: ");
  server_.extend.Always(nullptr);

  WordList max_hold = short_ttl;
  max_hold.insert(max_hold.end(), {"--max-hold", "500ms"});
  ExpectLost(Run("exec sleep 1000", max_hold), "MAX_HOLD", "has reached its --max-hold");

  CliProcess stolen = Start("echo up; exec sleep 1000", short_ttl);
  ASSERT_TRUE(stolen.WaitForOutput("up"));
  server_.Steal("report");
  ExpectLost(stolen.Wait(), "ENDED", "the lease of `report` was lost: ");
}

TEST_F(CliTroubleTest, RunThatStoodStillSaysSo) {
  CliProcess process =
      Start("echo up $$; exec sleep 1000", {"--ttl", "4s", "--grace", "100ms", "--output", "json"});
  const pid_t group = NumberAfter(process, "up");
  process.Pause();
  ASSERT_TRUE(WaitUntil([&] { return !support::IsAlive(-group); }));

  process.Signal(SIGCONT);

  ExpectLost(process.Wait(), "PAUSED", "`lockkeeper run` was paused and did not renew it");
}

TEST_F(CliTroubleTest, GuardianThatStoodStillIsNotTakenForALostLease) {
  CliProcess process =
      Start("echo up; exec sleep 1000", {"--ttl", "2s", "--grace", "100ms", "--output", "json"});
  ASSERT_TRUE(process.WaitForOutput("up"));
  const std::string pid = std::to_string(process.pid());
  pid_t guardian = 0;
  std::ifstream("/proc/" + pid + "/task/" + pid + "/children") >> guardian;
  ASSERT_GT(guardian, 0);
  kill(guardian, SIGSTOP);

  // Each is sent two thirds of a second after the one before.
  const size_t before = server_.extend.seen().size();
  ASSERT_TRUE(server_.extend.WaitForCalls(before + 4));
  kill(guardian, SIGCONT);

  ExpectLost(process.Wait(), "GUARDIAN_PAUSED", "the guardian process was paused");
}

TEST_F(CliTroubleTest, AnotherKindOfServerIsLeftForTheNextAddress) {
  FakeLockServer other("", FakeLockServer::Sessions::kUnimplemented);
  other.fence.Always([](const support::FakeCall&, const auto&, auto*) {
    return grpc::Status(grpc::StatusCode::UNIMPLEMENTED, "Received http2 header with status: 404");
  });
  server_.fence.Always([](const support::FakeCall&, const auto&, auto* response) {
    response->set_verdict(v1::VERDICT_ADMITTED);
    return grpc::Status::OK;
  });

  const CliResult both =
      Command({"fence", "x", "1", "--server", other.address(), "--server", server_.address()});
  const CliResult alone =
      Command({"fence", "x", "1", "--server", other.address(), "--timeout", "200ms"});

  EXPECT_EQ(both.exit_code, 0) << both.err;
  EXPECT_EQ(alone.exit_code, 69);
  EXPECT_THAT(alone.err, HasSubstr("the server at " + other.address() + " is not lockkeeperd"));
}

TEST_F(CliTroubleTest, OwnerTellsProcessesApart) {
  EXPECT_EQ(Run("exit 0").exit_code, 0);
  CliProcess process = Start("exit 0");
  process.Wait();
  EXPECT_EQ(Run("exit 0",
                {"--owner", "me", "--label", "a=b", "--lock-delay", "2s", "--hold-at-least", "90s"})
                .exit_code,
            0);
  EXPECT_EQ(Command({"acquire", "other"}).exit_code, 0);

  const auto seen = server_.acquire.seen();
  EXPECT_TRUE(seen.at(1).owner().ends_with("/" + std::to_string(process.pid()) + " sh"))
      << seen[1].owner();
  EXPECT_NE(seen[0].owner(), seen[1].owner());
  EXPECT_EQ(seen.at(2).owner(), "me");
  EXPECT_EQ(seen[2].labels().at("a"), "b");
  EXPECT_EQ(seen[2].lock_delay().seconds(), 2);
  EXPECT_EQ(seen[2].hold_at_least().seconds(), 90);
  EXPECT_TRUE(seen.at(3).owner().ends_with("/" + std::to_string(getpid()))) << seen[3].owner();
}

TEST_F(CliTroubleTest, FieldIsCalledAsItWasTyped) {
  server_.acquire.NextError({.code = grpc::StatusCode::INVALID_ARGUMENT,
                             .reason = "INVALID_FIELD",
                             .message = "wait_timeout: too long",
                             .field = "wait_timeout"});

  const CliResult result = Command({"acquire", "x", "--wait", "3s"});

  EXPECT_EQ(result.exit_code, 65);
  EXPECT_EQ(result.err, "lockkeeper: --wait: too long (INVALID_FIELD)\n");
}

}  // namespace
}  // namespace lockkeeper
