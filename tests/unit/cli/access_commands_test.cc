// SPDX-License-Identifier: Apache-2.0
#include "cli/access_commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace lockkeeper::cli {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Report Make(const TokenCommand& command, const std::string& input = "") {
  std::istringstream stream(input);
  return MakeToken(command, stream, absl::FromUnixSeconds(1'800'000'000));  // In January 2027.
}

Report Hash(const std::string& input) {
  return Make({.action = TokenCommand::Action::kHash, .name = "ci", .expires = "", .out = ""},
              input);
}

TEST(MakeTokenTest, NameThatTheDaemonWouldRefuseIsRefused) {
  EXPECT_EQ(Make({.name = std::string(256, 'n')}).exit_code, 0);
  for (const std::string& name :
       {std::string(), std::string("anonymous"), std::string("a\nb"), std::string(257, 'n')}) {
    const Report report = Make({.name = name});

    EXPECT_EQ(report.exit_code, 64) << name;
    EXPECT_THAT(report.text, StartsWith("lockkeeper: --name: must be 1 to 256 bytes of UTF-8"));
  }
}

TEST(MakeTokenTest, EndThatIsOverIsRefused) {
  const Report report = Make({.name = "ci", .expires = "2026-12-31T00:00:00Z"});

  EXPECT_EQ(report.exit_code, 64);
  EXPECT_THAT(report.text, HasSubstr("--expires: must be in the future"));
  EXPECT_EQ(Make({.name = "ci", .expires = "2027-02-01T00:00:00Z"}).exit_code, 0);
}

TEST(MakeTokenTest, HashIsOfOneLine) {
  const Report one = Hash("secret");
  EXPECT_EQ(one.exit_code, 0);
  EXPECT_EQ(Hash("secret\n").text, one.text);

  const Report two = Hash("secret\nof another\n");
  EXPECT_EQ(two.exit_code, 64);
  EXPECT_THAT(two.text, HasSubstr("standard input, which has more than one line"));
  EXPECT_THAT(Hash("\n").text, HasSubstr("standard input, which is empty"));
  EXPECT_THAT(Hash(std::string(4097, 't')).text, HasSubstr("has more than 4096 bytes"));
}

}  // namespace
}  // namespace lockkeeper::cli
