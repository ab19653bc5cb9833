// SPDX-License-Identifier: Apache-2.0
//
// A real server confirms what it has replied to: that its replicas have it, or its disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <string>

#include "node_harness.h"
#include "support/mailbox.h"
#include "support/process/redis_server.h"
#include "support/process/replicated_servers.h"

namespace lockkeeper::redis {
namespace {

using core::Assurance;
using support::RedisServer;
using support::ReplicatedServers;
using ::testing::HasSubstr;

std::future<Assurance> StartConfirming(NodeHarness& harness, Assurance wanted,
                                       core::Millis within = std::chrono::seconds(20)) {
  auto promise = std::make_shared<std::promise<Assurance>>();
  harness.loop().Post([&harness, wanted, within, promise] {
    RedisNode& node = harness.node();
    node.Confirm(node.AnyRoute(), wanted, harness.loop().Now() + within,
                 [promise](Assurance confirmed) { promise->set_value(confirmed); });
  });
  return promise->get_future();
}

Assurance Confirm(NodeHarness& harness, Assurance wanted) {
  return Await(StartConfirming(harness, wanted));
}

bool MayConfirm(NodeHarness& harness, Assurance wanted) {
  bool may = false;
  harness.loop().RunAndWait([&] { may = harness.node().MayConfirm(wanted); });
  return may;
}

std::string SettingProblem(NodeHarness& harness) {
  std::string problem;
  harness.loop().RunAndWait([&] { problem = harness.node().setting_problem(); });
  return problem;
}

// Replicas that go on confirm, though on a busy machine not always within a short round.
void AwaitReplicas(NodeHarness& harness) {
  while (Confirm(harness, Assurance::kReplicas) != Assurance::kReplicas) {
  }
}

// A round waits for a second, so that tests of what is not confirmed are short.
void WaitBriefly(RedisNodeOptions& options) { options.request_timeout = core::Millis(2'000); }

void AwaitProblem(NodeHarness& harness, const std::string& problem) {
  while (SettingProblem(harness) != problem) {
  }
}

TEST(ConfirmationsTest, WhatIsConfirmedIsOnTheReplica) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url());
  harness.AwaitReachable();
  for (int i = 0; i < 100; ++i) {
    const std::string value = std::to_string(i);
    ASSERT_TRUE(harness.Ask({"SET", "key", value}).ok());

    ASSERT_EQ(Confirm(harness, Assurance::kReplicas), Assurance::kReplicas);

    ASSERT_EQ(servers.replica().Run({"GET", "key"}).text, value);
  }
}

TEST(ConfirmationsTest, AsManyReplicasAsAskedHaveToConfirm) {
  ReplicatedServers servers(2);
  NodeHarness both(servers.primary().url(), [](RedisNodeOptions& options) {
    WaitBriefly(options);
    options.replicas = 2;
  });
  NodeHarness one(servers.primary().url(), WaitBriefly);
  both.AwaitReachable();
  one.AwaitReachable();
  AwaitReplicas(both);

  EXPECT_GT(both.observed().confirmed, 0);

  servers.replica(1).Pause();
  ASSERT_TRUE(both.Ask({"SET", "key", "1"}).ok());
  EXPECT_EQ(Confirm(both, Assurance::kReplicas), Assurance::kMemory);
  EXPECT_GT(both.observed().not_confirmed, 0);
  ASSERT_TRUE(one.Ask({"SET", "key", "2"}).ok());
  AwaitReplicas(one);
}

// Redis 7.2 counts all replicas for a connection that has written nothing.
TEST(ConfirmationsTest, WithoutAReplicaNothingIsConfirmed) {
  RedisServer server;
  NodeHarness harness(server.url(), WaitBriefly);
  harness.AwaitReachable();
  ASSERT_TRUE(harness.Ask({"SET", "key", "1"}).ok());

  EXPECT_EQ(Confirm(harness, Assurance::kReplicas), Assurance::kMemory);
  EXPECT_EQ(Confirm(harness, Assurance::kQuorum), Assurance::kMemory);
}

TEST(ConfirmationsTest, PausedReplicaHoldsUpNobodyElseAndIsFoundAgain) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url());
  harness.AwaitReachable();
  servers.replica().Pause();
  auto confirmed = StartConfirming(harness, Assurance::kReplicas);

  for (int i = 0; i < 100; ++i) ASSERT_TRUE(harness.Ask({"SET", "key", "1"}).ok());
  EXPECT_EQ(confirmed.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  servers.replica().Resume();

  EXPECT_EQ(Await(std::move(confirmed)), Assurance::kReplicas);
}

TEST(ConfirmationsTest, AfterAFailureNobodyWaitsUntilAProbeSucceeds) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url(), WaitBriefly);
  harness.AwaitReachable();
  EXPECT_TRUE(MayConfirm(harness, Assurance::kReplicas)) << "nobody has asked yet";
  servers.replica().Pause();
  EXPECT_EQ(Confirm(harness, Assurance::kReplicas), Assurance::kMemory);
  EXPECT_FALSE(MayConfirm(harness, Assurance::kReplicas));
  EXPECT_TRUE(MayConfirm(harness, Assurance::kMemory));

  // A round takes a second: this is answered before one could end.
  auto refused = StartConfirming(harness, Assurance::kReplicas);
  harness.loop().RunAndWait([] {});
  harness.loop().RunAndWait([] {});
  EXPECT_EQ(refused.wait_for(std::chrono::seconds(0)), std::future_status::ready);

  servers.replica().Resume();
  AwaitReplicas(harness);
  EXPECT_TRUE(MayConfirm(harness, Assurance::kReplicas));
}

TEST(ConfirmationsTest, DeadlineEndsTheWait) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url());  // A round waits for 10 s.
  harness.AwaitReachable();
  servers.replica().Pause();

  auto in_round = StartConfirming(harness, Assurance::kReplicas, core::Millis(50));
  auto behind = StartConfirming(harness, Assurance::kReplicas, core::Millis(60));
  auto long_wait = StartConfirming(harness, Assurance::kReplicas);

  EXPECT_EQ(Await(std::move(in_round)), Assurance::kMemory);
  EXPECT_EQ(Await(std::move(behind)), Assurance::kMemory);
  EXPECT_EQ(long_wait.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  servers.replica().Resume();
  EXPECT_EQ(Await(std::move(long_wait)), Assurance::kReplicas);
}

// Redis answers those that wait -UNBLOCKED: nobody knows what becomes of their writes.
TEST(ConfirmationsTest, PrimaryThatIsDemotedConfirmsNothing) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url());
  harness.AwaitReachable();
  servers.replica().Pause();
  auto confirmed = StartConfirming(harness, Assurance::kReplicas);
  while (servers.primary().Info("clients", "blocked_clients") != "1") {
  }

  servers.primary().Run({"REPLICAOF", "127.0.0.1", "1"});

  EXPECT_LT(Await(std::move(confirmed)), Assurance::kReplicas);
}

// Confirmations without the node that asks for them.
class Asking : private Confirmations::Listener {
 public:
  explicit Asking(const std::string& url) {
    Confirmations::Listener& listener = *this;
    loop_.RunAndWait([&] {
      ConnectionOptions connection;
      connection.url = *ParseRedisUrl(url);
      connection.request_timeout = std::chrono::seconds(20);
      confirmations_ = std::make_unique<Confirmations>(
          loop_, connection, loop::Backoff({}, loop::Jitter(1)),
          ConfirmationsOptions{.key = [] { return "confirmation"; },
                               .round_max = std::chrono::seconds(10)},
          listener);
    });
  }
  ~Asking() override {
    loop_.RunAndWait([&] {
      confirmations_->Close();
      confirmations_.reset();
    });
    loop_.Stop();
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;

  std::future<bool> Ask(const std::string& run_id) {
    auto promise = std::make_shared<std::promise<bool>>();
    loop_.RunAndWait([&] {
      confirmations_->Confirm(run_id, loop_.Now() + kPatience,
                              [promise](bool confirmed) { promise->set_value(confirmed); });
    });
    return promise->get_future();
  }

  // The next one that it tells, empty if it confirms again.
  std::string NextProblem() { return problem_.Take().value_or("none in time"); }

 private:
  void OnConfirmationsChanged() override { problem_.Put(confirmations_->problem()); }
  void OnConfirmationsBroken() override {}
  void OnRoundEnded(bool, core::Micros) override {}

  support::Mailbox<std::string> problem_;
  loop::EventLoop loop_{"test"};
  std::unique_ptr<Confirmations> confirmations_;
};

TEST(ConfirmationsTest, ServerThatTookThePlaceOfAnotherConfirmsNothingOfIt) {
  ReplicatedServers servers;
  Asking asking(servers.primary().url());

  auto of_another = asking.Ask(std::string(40, '0'));
  auto of_this = asking.Ask(servers.primary().Info("server", "run_id"));

  EXPECT_FALSE(Await(std::move(of_another)));
  EXPECT_TRUE(Await(std::move(of_this)));
}

// Those who ask later must not write and wait in vain.
TEST(ConfirmationsTest, ConnectionOfItsOwnThatIsDownIsAProblem) {
  ReplicatedServers servers;
  Asking asking(servers.primary().url());
  ASSERT_EQ(asking.NextProblem(), "");

  servers.primary().Run({"CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"});

  EXPECT_THAT(asking.NextProblem(), HasSubstr("cannot be asked what it confirms: "));
  EXPECT_EQ(asking.NextProblem(), "") << "it has connected again, and has asked";
  EXPECT_TRUE(Await(asking.Ask(servers.primary().Info("server", "run_id"))));
}

TEST(ConfirmationsTest, ClosedNodeAnswersThoseThatWait) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url());
  harness.AwaitReachable();
  servers.replica().Pause();
  auto in_round = StartConfirming(harness, Assurance::kReplicas);
  while (servers.primary().Info("clients", "blocked_clients") != "1") {
  }
  auto behind = StartConfirming(harness, Assurance::kReplicas);
  harness.Close();

  EXPECT_LT(Await(std::move(in_round)), Assurance::kReplicas);
  EXPECT_LT(Await(std::move(behind)), Assurance::kReplicas);
}

TEST(ConfirmationsTest, ReplicasThatEveryLeaseNeedsAreMissedAndFoundAgain) {
  ReplicatedServers servers;
  NodeHarness harness(servers.primary().url(), [](RedisNodeOptions& options) {
    WaitBriefly(options);
    options.min_assurance = Assurance::kReplicas;
  });
  harness.AwaitHealth(
      [](const NodeHealth& health) { return health.assurance == Assurance::kReplicas; });
  AwaitProblem(harness, "");

  servers.replica().Pause();
  EXPECT_EQ(Confirm(harness, Assurance::kReplicas), Assurance::kMemory);
  AwaitProblem(harness, "has confirmed a write on 0 of 1 replicas (store.assurance)");
  harness.AwaitHealth([](const NodeHealth& health) {
    return health.reachable && !health.refused && health.assurance == Assurance::kMemory;
  });

  servers.replica().Resume();
  harness.AwaitHealth(
      [](const NodeHealth& health) { return health.assurance == Assurance::kReplicas; });
  AwaitProblem(harness, "");
}

TEST(ConfirmationsTest, RightThatIsMissingIsNamed) {
  RedisServer server({.listening = support::Listening::kUnixSocketAndTcp,
                      .settings = {"user locks on >secret ~* &* +@all -wait"}});
  NodeHarness harness(
      "redis://locks:secret@127.0.0.1:" + std::to_string(server.port()),
      [](RedisNodeOptions& options) { options.min_assurance = Assurance::kReplicas; });
  harness.AwaitReachable();
  EXPECT_EQ(Confirm(harness, Assurance::kReplicas), Assurance::kMemory);

  EXPECT_THAT(SettingProblem(harness), HasSubstr("answered WAIT with: NOPERM"));
}

// What `fsynced` asks for of a server with these settings, that are not enough.
std::string ProblemOfDisk(RedisServer& server) {
  NodeHarness harness(server.url(),
                      [](RedisNodeOptions& options) { options.min_assurance = Assurance::kDisk; });
  return harness.AwaitHealth([](const NodeHealth& health) { return health.refused; }).problem;
}

TEST(ConfirmationsTest, DiskThatIsWrittenToLaterIsNotWhatFsyncedAsksFor) {
  RedisServer memory_only;
  EXPECT_THAT(ProblemOfDisk(memory_only), HasSubstr("set `appendonly yes`"));
  RedisServer later({.settings = {"appendonly yes", "appendfsync everysec"}});
  EXPECT_THAT(ProblemOfDisk(later), HasSubstr("set `appendfsync always`"));
  RedisServer not_always(
      {.settings = {"appendonly yes", "appendfsync always", "no-appendfsync-on-rewrite yes"}});
  EXPECT_THAT(ProblemOfDisk(not_always), HasSubstr("set `no-appendfsync-on-rewrite no`"));
}

TEST(ConfirmationsTest, DiskThatIsWrittenToAtOnceIsConfirmedByTheReply) {
  RedisServer server({.durability = support::Durability::kDiskAlways});
  NodeHarness harness(server.url(),
                      [](RedisNodeOptions& options) { options.min_assurance = Assurance::kDisk; });

  const NodeHealth health = harness.AwaitReachable();
  EXPECT_EQ(health.assurance, Assurance::kDisk);
  EXPECT_EQ(SettingProblem(harness), "");
}

}  // namespace
}  // namespace lockkeeper::redis
