// SPDX-License-Identifier: Apache-2.0
#include "transport/channels.h"

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "support/source_tree.h"

namespace lockkeeper::client {
namespace {

TEST(CheckAddressTest, TheThreeFormsAreTaken) {
  for (const char* address :
       {"127.0.0.1:7600", "localhost:1", "db-1.example:65535", "[::1]:7600", "[fe80::1%eth0]:7600",
        "unix:/run/lockkeeper.sock", "unix:relative.sock"}) {
    EXPECT_TRUE(CheckAddress(address).ok()) << address;
  }
}

TEST(CheckAddressTest, OthersAreRefusedWithTheForms) {
  for (const char* address : {"", "localhost", "localhost:", "localhost:http", "localhost:0",
                              "localhost:65536", ":7600", "::1:7600", "[]:7600", "unix:",
                              "http://localhost:7600", "local host:7600", "localhost:7600/x"}) {
    const absl::Status status = CheckAddress(address);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << address;
    EXPECT_NE(status.message().find("`host:port`"), std::string::npos) << status;
  }
}

// Numbers of the channel's settings.
std::map<std::string, int> Settings() {
  const grpc::ChannelArguments settings = ChannelSettings();
  const grpc_channel_args all = settings.c_channel_args();
  std::map<std::string, int> numbers;
  for (size_t i = 0; i < all.num_args; ++i) {
    const grpc_arg& argument = all.args[i];
    if (argument.type == GRPC_ARG_INTEGER) numbers[argument.key] = argument.value.integer;
  }
  return numbers;
}

// An acquire that waits is silent for minutes.
TEST(ChannelsTest, SilentCallIsKeptAliveByPingsAsTheContractSays) {
  EXPECT_THAT(Settings(), testing::IsSupersetOf(std::map<std::string, int>{
                              {GRPC_ARG_KEEPALIVE_TIME_MS, 10'000},
                              {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000},
                              // Otherwise gRPC stops after two.
                              {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0}}));
  const std::string contract = support::ReadSourceFile("client/README.md");
  EXPECT_THAT(contract, testing::HasSubstr("ping every **10 s**, timeout **5 s**"));
}

TEST(ChannelsTest, CallsAreRepeatedByUsOnlyAndChannelsShareNoConnection) {
  EXPECT_THAT(Settings(), testing::IsSupersetOf(std::map<std::string, int>{
                              // Without a policy: only calls that nobody has seen.
                              {GRPC_ARG_ENABLE_RETRIES, 1},
                              {GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1},
                              {GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1}}));
}

std::string PolicyOf(const grpc::ChannelArguments& settings) {
  const grpc_channel_args all = settings.c_channel_args();
  for (size_t i = 0; i < all.num_args; ++i) {
    const grpc_arg& argument = all.args[i];
    if (argument.key == std::string(GRPC_ARG_LB_POLICY_NAME)) return argument.value.string;
  }
  return "";
}

TEST(ChannelsTest, OnlyThoseThatAreSpreadTakeTheDaemonsOfANameInTurn) {
  EXPECT_EQ(PolicyOf(ChannelSettings(Spread::kAllDaemons)), "round_robin");
  EXPECT_EQ(PolicyOf(ChannelSettings()), "");
}

// Daemons that are replaced one after the other have new addresses within seconds.
TEST(ChannelsTest, NameIsAskedForAgainWithinASecond) {
  EXPECT_EQ(Settings()[GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS], 1'000);
}

TEST(ChannelsTest, FailureMovesOnOnceHoweverManyCallsSawIt) {
  const auto channels = Channels::Open({"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"});

  channels->Failed(0);
  channels->Failed(0);
  EXPECT_EQ(channels->current(), 1u);
  channels->Failed(1);
  channels->Failed(2);
  EXPECT_EQ(channels->current(), 0u);
}

}  // namespace
}  // namespace lockkeeper::client
