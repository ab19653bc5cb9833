// SPDX-License-Identifier: Apache-2.0
//
// The server that the other tests stand on does what its header says.
#include "support/process/redis_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace lockkeeper::support {
namespace {

using ::testing::HasSubstr;
using Type = redis::Reply::Type;

TEST(RedisServerTest, AnswersCommandsWithEveryTypeOfReply) {
  RedisServer server;

  EXPECT_EQ(server.Run({"SET", "name", "value"}).text, "OK");
  EXPECT_EQ(server.Run({"GET", "name"}).text, "value");
  EXPECT_EQ(server.Run({"GET", "nothing"}).type, Type::kNil);
  EXPECT_EQ(server.Run({"INCR", "number"}).integer, 1);
  EXPECT_EQ(server.Run({"INCR", "name"}).type, Type::kError);
  EXPECT_EQ(server.Run({"MGET", "name", "nothing"}).items.size(), 2u);
}

TEST(RedisServerTest, RestartKeepsOrLosesDataAsAsked) {
  RedisServer server({.durability = Durability::kDiskAlways});
  server.Run({"SET", "name", "value"});

  server.Restart(Data::kKeep);
  EXPECT_EQ(server.Run({"GET", "name"}).text, "value");

  server.Restart(Data::kLose);
  EXPECT_EQ(server.Run({"GET", "name"}).type, Type::kNil);
}

TEST(RedisServerTest, RestartKeepsThePort) {
  RedisServer server({.listening = Listening::kUnixSocketAndTcp});
  const std::string url = server.url();
  EXPECT_THAT(url, HasSubstr("redis://127.0.0.1:"));

  server.Restart(Data::kLose);

  EXPECT_EQ(server.url(), url);
  EXPECT_EQ(server.Info("server", "tcp_port"), std::to_string(server.port()));
}

TEST(RedisServerTest, ExtraSettingsHoldForOneRunOnly) {
  RedisServer server;

  server.Restart(Data::kLose, {"maxmemory 100mb"});
  EXPECT_EQ(server.Info("memory", "maxmemory"), "104857600");

  server.Restart(Data::kLose);
  EXPECT_EQ(server.Info("memory", "maxmemory"), "0");
}

TEST(RedisServerTest, PausedServerKeepsItsDataUntilItIsResumed) {
  RedisServer server;
  server.Run({"SET", "name", "value"});

  server.Pause();
  server.Resume();

  EXPECT_EQ(server.Run({"GET", "name"}).text, "value");
}

TEST(RedisServerTest, WrongSettingFailsWithTheServersWords) {
  try {
    RedisServer server({.settings = {"maxmemory-policy nonsense"}});
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("maxmemory-policy nonsense"));
  }
}

TEST(ChildProcessTest, TellsHowTheProgramEnded) {
  ChildProcess succeeds({.command = {"true"}});
  ChildProcess waits({.command = {"sleep", "1000"}});

  EXPECT_EQ(succeeds.WaitForEnd(std::chrono::seconds(30))->exit_code, 0);
  EXPECT_FALSE(waits.WaitForEnd(std::chrono::milliseconds(0)));
  waits.Signal(SIGTERM);
  EXPECT_EQ(waits.WaitForEnd(std::chrono::seconds(30))->signal, SIGTERM);
}

TEST(ChildProcessTest, MissingProgramFailsByName) {
  try {
    ChildProcess process({.command = {"no-such-program"}});
    FAIL() << "started";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "cannot start no-such-program: No such file or directory");
  }
}

}  // namespace
}  // namespace lockkeeper::support
