// SPDX-License-Identifier: Apache-2.0
//
// Signals while `lockkeeper acquire` stands in line, as of Ctrl-C: it leaves the line. Method: a
// service in this process lets it wait.
#include <gtest/gtest.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "support/client/fake_lock_server.h"
#include "support/process/cli_process.h"

namespace lockkeeper {
namespace {

using support::CliProcess;
using support::CliResult;
using support::FakeLockServer;

constexpr char kId[] = "0123456789abcdef0123456789abcdef";

class CliAcquireSignalsTest : public testing::Test {
 protected:
  CliAcquireSignalsTest() {
    server_.acquire.Always([this](const support::FakeCall& call, const auto&, auto*) {
      server_.UntilCancelled(call);
      return grpc::Status::CANCELLED;
    });
  }

  // Starts an acquire and waits until it stands in line.
  std::unique_ptr<CliProcess> StartWaiting(std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"acquire", "report", "--wait", "10m"});
    const size_t before = server_.acquire.seen().size();
    auto process = std::make_unique<CliProcess>(LOCKKEEPER_PROGRAM, server_.address(), options);
    EXPECT_TRUE(server_.acquire.WaitForCalls(before + 1));
    return process;
  }

  FakeLockServer server_;
};

TEST_F(CliAcquireSignalsTest, SignalWhileItWaitsReleasesItsLeaseIdAndSaysSo) {
  size_t ended = 0;
  for (const auto& [signal, name] :
       {std::pair(SIGINT, "SIGINT"), std::pair(SIGTERM, "SIGTERM"), std::pair(SIGHUP, "SIGHUP")}) {
    const auto process = StartWaiting();

    process->Signal(signal);
    const CliResult result = process->Wait();

    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(result.err.starts_with(std::string("lockkeeper: ") + name + " arrived before"))
        << result.err;
    EXPECT_NE(result.err.find("the place in line is given up"), std::string::npos) << result.err;
    ASSERT_EQ(server_.release.seen().size(), ++ended);
    EXPECT_EQ(server_.release.seen().back().lease_id(), server_.acquire.seen().back().lease_id());
  }
}

TEST_F(CliAcquireSignalsTest, LeaseIdOfTheCallersOwnIsReleasedToo) {
  const auto process = StartWaiting({"--lease-id", kId, "--output", "json"});

  process->Signal(SIGINT);
  const CliResult result = process->Wait();

  EXPECT_EQ(result.exit_code, 130);
  EXPECT_TRUE(result.out.starts_with(
      R"({"outcome":"error","name":"report","reason":"INTERRUPTED","message":")"))
      << result.out;
  ASSERT_EQ(server_.release.seen().size(), 1u);
  EXPECT_EQ(server_.release.seen()[0].lease_id(), kId);
}

TEST_F(CliAcquireSignalsTest, PlaceThatNobodyCouldBeToldOfLapses) {
  const std::string lapses = "the service does not answer: a place in line lapses by itself";
  CliProcess away(LOCKKEEPER_PROGRAM, "127.0.0.1:1", {"acquire", "report", "--wait", "10m"});
  ASSERT_TRUE(
      support::WaitUntil([&] { return away.err().find("cannot reach") != std::string::npos; }));
  away.Signal(SIGINT);
  EXPECT_NE(away.Wait().err.find(lapses), std::string::npos) << away.err();

  server_.release.Always([this](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  const auto process = StartWaiting({"--lease-id", kId, "--timeout", "200ms"});
  process->Signal(SIGINT);
  const CliResult result = process->Wait();

  EXPECT_EQ(result.exit_code, 130);
  EXPECT_NE(result.err.find(lapses), std::string::npos) << result.err;
}

TEST_F(CliAcquireSignalsTest, SecondSignalDoesNotWaitForTheRelease) {
  server_.release.Always([this](const support::FakeCall& call, const auto&, auto*) {
    server_.UntilCancelled(call);
    return grpc::Status::CANCELLED;
  });
  const auto process = StartWaiting({"--lease-id", kId});
  process->Signal(SIGINT);
  ASSERT_TRUE(server_.release.WaitForCalls(1));

  process->Signal(SIGINT);

  const CliResult result = process->Wait();
  EXPECT_EQ(result.exit_code, -1) << "died by the signal";
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace lockkeeper
