// SPDX-License-Identifier: Apache-2.0
#include "transport/channels.h"

#include <gtest/gtest.h>

#include <string>

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
