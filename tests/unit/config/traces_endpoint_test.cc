// SPDX-License-Identifier: Apache-2.0
#include "config/traces_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "config/config_loader.h"

namespace lockkeeper::config {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TracesEndpointTest, HostPortAndSchemeAreRead) {
  const std::pair<std::string, std::string> cases[] = {
      {"http://127.0.0.1:4317", "127.0.0.1:4317"},
      {"http://collector", "collector:4317"},
      {"http://collector/", "collector:4317"},
      {"http://collector.example:80", "collector.example:80"},
      {"http://[::1]", "[::1]:4317"},
      {"http://[::1]:1", "[::1]:1"},
  };
  for (const auto& [text, target] : cases) {
    const auto endpoint = ParseTracesEndpoint(text);
    ASSERT_TRUE(endpoint.ok()) << text << ": " << endpoint.status();
    EXPECT_EQ(endpoint->target, target);
    EXPECT_FALSE(endpoint->tls);
  }
  EXPECT_TRUE(ParseTracesEndpoint("https://collector")->tls);
}

TEST(TracesEndpointTest, EverythingElseIsRefusedWithAReason) {
  const std::pair<std::string, std::string> cases[] = {
      {"collector:4317", "must be http://host[:port], or https://host[:port] with TLS"},
      {"grpc://collector", "must be http://"},
      {"http://collector:4318/v1/traces", "spans go by OTLP over gRPC, not to a path"},
      {"http://collector?x=1", "not to a path"},
      {"http://user:secret@collector", "has a user or password"},
      {"http://", "has no host"},
      {"http://:4317", "has no host"},
      {"http://collector:0", "the port must be from 1 to 65535, is 0"},
      {"http://collector:65536", "must be from 0 to 65535"},
      {"http://collector:", "port"},
      {"http://::1", "belongs in brackets"},
      {"http://unix:/run/x", "not to a path"},
      {"http://tls://collector", "not to a path"},
      {"http://a b", "no valid host"},
  };
  for (const auto& [text, problem] : cases) {
    const auto endpoint = ParseTracesEndpoint(text);
    ASSERT_FALSE(endpoint.ok()) << text;
    EXPECT_THAT(std::string(endpoint.status().message()), HasSubstr(problem)) << text;
  }
}

TEST(TracesEndpointTest, ProblemOfTheConfigurationNamesTheSetting) {
  const auto loaded = ReadConfig({.environment = {{"LOCKKEEPERD_TRACES_ENDPOINT", "collector"},
                                                  {"LOCKKEEPERD_TRACES_SAMPLE_RATIO", "2"}},
                                  .user = User::kRoot});

  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(
      std::string(loaded.status().message()),
      AllOf(HasSubstr("LOCKKEEPERD_TRACES_ENDPOINT"), HasSubstr("must be http://"),
            HasSubstr("LOCKKEEPERD_TRACES_SAMPLE_RATIO"), HasSubstr("must be from 0 to 1, is 2")));
}

}  // namespace
}  // namespace lockkeeper::config
