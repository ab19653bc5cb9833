// SPDX-License-Identifier: Apache-2.0
//
// Standard streams that are closed, or cannot be written to; and what the command of `run` finds in
// its environment.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/client/fake_lock_server.h"
#include "support/process/cli_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper {
namespace {

using support::CliResult;

class CliStreamsTest : public testing::Test {
 protected:
  // Runs a shell line in which $LK is the program.
  CliResult Shell(const std::string& line) {
    return support::RunCli("/bin/sh", server_.address(),
                           {"-c", "LK='" LOCKKEEPER_PROGRAM "'; " + line});
  }

  support::TemporaryDirectory directory_;
  support::FakeLockServer server_;
};

TEST_F(CliStreamsTest, CommandRunsWhateverStandardStreamsAreClosed) {
  for (const std::string closed : {"<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"}) {
    const std::string file = directory_.Path("ran");
    const CliResult result =
        Shell("\"$LK\" run report -- sh -c 'touch " + file + "; exit 3' " + closed);

    EXPECT_EQ(result.exit_code, 3) << closed << result.err;
    EXPECT_TRUE(std::filesystem::remove(file)) << "the command did not run: " << closed;
  }
}

TEST_F(CliStreamsTest, CommandFindsClosedStreamsAsTheyWere) {
  EXPECT_EQ(Shell("\"$LK\" run report -- sh -c 'echo into nothing || exit 5' >&-").exit_code, 5);
}

TEST_F(CliStreamsTest, LeaseWhoseIdNobodyCanReadIsReleased) {
  for (const std::string command : {"acquire report >/dev/full", "acquire report >&-",
                                    "--output json acquire report >/dev/full"}) {
    const CliResult result = Shell("exec \"$LK\" " + command);

    EXPECT_EQ(result.exit_code, 74) << command;
    EXPECT_TRUE(result.err.starts_with("lockkeeper: cannot write to standard output: "))
        << result.err;
    EXPECT_TRUE(result.err.ends_with("; the lock is released again\n")) << result.err;
    EXPECT_EQ(server_.HolderOf("report"), "") << command;
  }
  const std::string id = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(Shell("exec \"$LK\" acquire report >/dev/full --lease-id " + id).exit_code, 74);
  EXPECT_EQ(server_.HolderOf("report"), id) << "its caller knows the id";
}

TEST_F(CliStreamsTest, AnswerThatCannotBeWrittenIs74UnlessItWasAnErrorAnyway) {
  server_.fence.Always([](const support::FakeCall&, const auto&, auto* response) {
    response->set_verdict(v1::VERDICT_ADMITTED);
    return grpc::Status::OK;
  });
  for (const std::string command : {"--help", "--version", "fence report 1"}) {
    EXPECT_EQ(Shell("exec \"$LK\" >/dev/full " + command).exit_code, 74) << command;
  }
  EXPECT_EQ(Shell("exec \"$LK\" --output json acquire >/dev/full").exit_code, 64);
}

TEST_F(CliStreamsTest, PipeThatNobodyReadsIs74) {
  server_.fence.Always([](const support::FakeCall&, const auto&, auto* response) {
    response->set_verdict(v1::VERDICT_ADMITTED);
    return grpc::Status::OK;
  });
  const std::string pipe = directory_.Path("pipe");
  const std::string unread =
      "mkfifo '" + pipe + "'; exec 3<>'" + pipe + "' 4>'" + pipe + "' 3<&-; ";
  for (const std::string command : {"--help", "completion bash", "fence report 1"}) {
    const CliResult result = Shell(unread + "rm '" + pipe + "'; exec \"$LK\" >&4 " + command);

    EXPECT_EQ(result.exit_code, 74) << command;
    EXPECT_TRUE(result.err.starts_with("lockkeeper: cannot write to standard output: "))
        << result.err;
  }
  EXPECT_EQ(Shell("exec \"$LK\" run report -- sh -c 'kill -PIPE $$; exit 3'").exit_code, 141)
      << "its command finds the signal as it was";
}

TEST_F(CliStreamsTest, CommandOfRunGetsNoVariablesButThoseOfItsLock) {
  const CliResult result = Shell(
      "unset GRPC_VERBOSITY; exec \"$LK\" run report -- "
      "sh -c 'env | cut -d= -f1 | grep -E \"^(GRPC_VERBOSITY|LOCKKEEPER)\" | sort'");

  EXPECT_EQ(result.out,
            "LOCKKEEPER_FENCING_TOKEN\nLOCKKEEPER_LEASE_ID\nLOCKKEEPER_LOCK\nLOCKKEEPER_SERVER\n");
}

}  // namespace
}  // namespace lockkeeper
