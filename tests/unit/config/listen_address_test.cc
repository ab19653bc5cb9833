// SPDX-License-Identifier: Apache-2.0
#include "config/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockkeeper::config {
namespace {

using testing::HasSubstr;

enum class Reach { kLocal, kOutside };

struct Readable {
  std::string text;
  ListenAddress address;
  Reach reach;
};

void ExpectRead(const Readable& expected) {
  SCOPED_TRACE(expected.text);
  const auto address = ParseListenAddress(expected.text);

  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->host, expected.address.host);
  EXPECT_EQ(address->port, expected.address.port);
  EXPECT_EQ(address->path, expected.address.path);
  EXPECT_EQ(address->security, expected.address.security);
  EXPECT_EQ(address->IsLocal(), expected.reach == Reach::kLocal);
  EXPECT_EQ(address->ToString(), expected.text);
}

TEST(ReadableAddressTest, IsReadAndPrintedBack) {
  const Readable cases[] = {
      {"127.0.0.1:7600", {.host = "127.0.0.1", .port = 7600}, Reach::kLocal},
      {"127.255.0.3:1", {.host = "127.255.0.3", .port = 1}, Reach::kLocal},
      {"localhost:0", {.host = "localhost", .port = 0}, Reach::kLocal},
      {"[::1]:65535", {.host = "::1", .port = 65535}, Reach::kLocal},
      {"unix:/run/lk.sock", {.path = "/run/lk.sock"}, Reach::kLocal},
      {"unix:/with:colon", {.path = "/with:colon"}, Reach::kLocal},
      {"0.0.0.0:7600", {.host = "0.0.0.0", .port = 7600}, Reach::kOutside},
      {"[::]:7600", {.host = "::", .port = 7600}, Reach::kOutside},
      {"10.1.2.3:7600", {.host = "10.1.2.3", .port = 7600}, Reach::kOutside},
      {"[fe80::1]:7600", {.host = "fe80::1", .port = 7600}, Reach::kOutside},
      {"[::ffff:10.0.0.1]:1", {.host = "::ffff:10.0.0.1", .port = 1}, Reach::kOutside},
      {"my-host.example_1:80", {.host = "my-host.example_1", .port = 80}, Reach::kOutside},
      {"localhost.example.com:80", {.host = "localhost.example.com", .port = 80}, Reach::kOutside},
      {"127.1:80", {.host = "127.1", .port = 80}, Reach::kOutside},
      {"tls://127.0.0.1:0", {.host = "127.0.0.1", .security = Security::kTls}, Reach::kLocal},
      {"tls://[::]:7600",
       {.host = "::", .port = 7600, .security = Security::kTls},
       Reach::kOutside},
      {"mtls://example.com:7600",
       {.host = "example.com", .port = 7600, .security = Security::kMutualTls},
       Reach::kOutside}};
  for (const Readable& expected : cases) ExpectRead(expected);
}

struct Refused {
  std::string text;
  std::string problem;
};

void ExpectRefused(const Refused& expected) {
  SCOPED_TRACE(expected.text);
  const auto address = ParseListenAddress(expected.text);

  ASSERT_FALSE(address.ok()) << "read as " << address->ToString();
  EXPECT_THAT(std::string(address.status().message()), HasSubstr(expected.problem));
}

TEST(RefusedAddressTest, SaysWhy) {
  const Refused cases[] = {{"", "has no port"},
                           {"localhost", "has no port"},
                           {"7600", "has no port"},
                           {"localhost:", "from 0 to 65535"},
                           {"localhost:http", "from 0 to 65535"},
                           {"localhost:65536", "from 0 to 65535"},
                           {"localhost:-1", "from 0 to 65535"},
                           {"localhost:80x", "from 0 to 65535"},
                           {":7600", "has no host"},
                           {"::1:7600", "belongs in brackets"},
                           {"[]:7600", "no IPv6 address in brackets"},
                           {"[127.0.0.1]:7600", "no IPv6 address in brackets"},
                           {"[::1:7600", "has no valid host"},
                           {"a b:7600", "has no valid host"},
                           {"http://localhost:7600", "tls:// and mtls:// are known"},
                           {"TLS://localhost:7600", "tls:// and mtls:// are known"},
                           {"tls://unix:/run/lk", "from 0 to 65535"},
                           {"tls://", "has no port"},
                           {"mtls://:7600", "has no host"},
                           {"unix:", "absolute path"},
                           {"unix:run/lk", "absolute path"},
                           {std::string(254, 'a') + ":1", "at most 253 bytes"},
                           {"unix:/" + std::string(107, 'a'), "at most 107 bytes"}};
  for (const Refused& expected : cases) ExpectRefused(expected);
}

TEST(ListenAddressTest, LongestUnixPathIsRead) {
  const std::string text = "unix:/" + std::string(106, 'a');

  const auto address = ParseListenAddress(text);

  ASSERT_TRUE(address.ok()) << address.status();
  EXPECT_EQ(address->ToString(), text);
}

}  // namespace
}  // namespace lockkeeper::config
