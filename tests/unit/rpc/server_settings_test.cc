// SPDX-License-Identifier: Apache-2.0
// What gRPC is given, first of all for calls that wait for minutes without data.
#include "rpc/server_settings.h"

#include <gmock/gmock.h>
#include <grpc/grpc.h>
#include <grpcpp/impl/server_builder_option.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

#include "core/limits.h"
#include "support/source_tree.h"

namespace lockkeeper::rpc {
namespace {

// Numbers that a server is built with: all options before this one have set theirs.
class Look final : public grpc::ServerBuilderOption {
 public:
  explicit Look(std::map<std::string, int>& seen) : seen_(seen) {}

  void UpdateArguments(grpc::ChannelArguments* arguments) override {
    const grpc_channel_args all = arguments->c_channel_args();
    for (size_t i = 0; i < all.num_args; ++i) {
      const grpc_arg& argument = all.args[i];
      if (argument.type == GRPC_ARG_INTEGER) seen_[argument.key] = argument.value.integer;
    }
  }
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>*) override {}

 private:
  std::map<std::string, int>& seen_;
};

std::map<std::string, int> NumbersOfServer() {
  std::map<std::string, int> seen;
  grpc::ServerBuilder builder;
  ApplyServerSettings(builder);
  builder.SetOption(std::make_unique<Look>(seen));
  builder.BuildAndStart();
  return seen;
}

TEST(ServerSettingsTest, CallMayBeSilentForMinutes) {
  const std::map<std::string, int> seen = NumbersOfServer();

  EXPECT_THAT(seen, testing::IsSupersetOf(std::map<std::string, int>{
                        {GRPC_ARG_KEEPALIVE_TIME_MS, 2'000},
                        {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3'000},
                        {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
                        // Otherwise gRPC stops after two, and the connection is silent again.
                        {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0},
                        {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000}}));
}

TEST(ServerSettingsTest, ConnectionCarriesSoManyCallsAndNoMore) {
  EXPECT_EQ(NumbersOfServer()[GRPC_ARG_MAX_CONCURRENT_STREAMS],
            core::limits::kCallsPerConnectionMax);
}

// Number behind `pattern`, whose first group it is, in a file of the repository.
int NumberIn(const std::string& file, const std::string& pattern) {
  const std::string text = support::ReadSourceFile(file);
  std::smatch found;
  if (!std::regex_search(text, found, std::regex(pattern))) return 0;
  std::string digits = found[1];
  std::erase_if(digits, [](char c) { return c == '\'' || c == '_'; });
  return std::stoi(digits);
}

// A client that pings more often than we allow would be cut off while it waits.
TEST(ServerSettingsTest, PingsOfOurClientsAreAllowed) {
  const int allowed = NumbersOfServer()[GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS];
  ASSERT_GT(allowed, 0);

  EXPECT_GE(
      NumberIn("client/cpp/src/transport/channels.cc", R"(GRPC_ARG_KEEPALIVE_TIME_MS, ([0-9']+))"),
      allowed);
  EXPECT_GE(
      NumberIn("client/python/src/lockkeeper/_connections.py", R"(keepalive_time_ms", ([0-9_]+))"),
      allowed);
  EXPECT_GE(NumberIn("client/node/src/transport/channels.ts", R"(keepalive_time_ms': ([0-9_]+))"),
            allowed);
  EXPECT_GE(NumberIn("docs/guides/any_language.md", R"(`grpc\.keepalive_time_ms` = (\d+))"),
            allowed);
}

}  // namespace
}  // namespace lockkeeper::rpc
