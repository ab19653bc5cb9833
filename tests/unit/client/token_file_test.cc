// SPDX-License-Identifier: Apache-2.0
//
// Which token a client shows while its file changes.
#include "transport/token_file.h"

#include <gmock/gmock.h>

#include <cstdio>

#include "lockkeeper/client.h"
#include "support/client/fake_lock_server.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::client {
namespace {

using testing::ElementsAre;

class TokenFileTest : public testing::Test {
 protected:
  TokenFileTest() {
    server_.fence.Always([this](const support::FakeCall& call, const auto&, auto*) {
      const auto found = call.context.client_metadata().find("authorization");
      const bool is_there = found != call.context.client_metadata().end();
      shown_.push_back(is_there ? std::string(found->second.data(), found->second.size())
                                : "nothing");
      return grpc::Status::OK;
    });
  }

  void Write(const std::string& text) const { directory_.Replace("token", text); }
  std::string path() const { return directory_.Path("token"); }

  support::TemporaryDirectory directory_;
  support::FakeLockServer server_;
  std::vector<std::string> shown_;  // To one call after the other.
};

TEST_F(TokenFileTest, RenewedTokenIsShownFromTheNextCallOn) {
  Write("first\n");
  Client client = *Client::Create({.addresses = {server_.address()}, .token_file = path()});
  EXPECT_TRUE(client.Fence("report", 1).ok());
  Write("second\n");
  EXPECT_TRUE(client.Fence("report", 1).ok());

  EXPECT_THAT(shown_, ElementsAre("Bearer first", "Bearer second"));
}

TEST_F(TokenFileTest, FileThatCannotBeReadLeavesTheTokenInUse) {
  Write("first\n");
  const auto file = *TokenFile::Open(path());
  const uint64_t version = file->Version();
  Client client = *Client::Create({.addresses = {server_.address()}, .token_file = path()});
  for (const char* text : {"", "two\nlines\n"}) {
    Write(text);
    EXPECT_TRUE(client.Fence("report", 1).ok());
    EXPECT_EQ(file->Version(), version);
  }
  std::remove(path().c_str());
  EXPECT_TRUE(client.Fence("report", 1).ok());
  Write("second\n");
  EXPECT_TRUE(client.Fence("report", 1).ok());

  EXPECT_THAT(shown_, ElementsAre("Bearer first", "Bearer first", "Bearer first", "Bearer second"));
  EXPECT_GT(file->Version(), version);
}

}  // namespace
}  // namespace lockkeeper::client
