// SPDX-License-Identifier: Apache-2.0
// Which tokens count, and what the file of --tokens may hold.
#include "access/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/escaping.h"

namespace lockkeeper::access {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const absl::Time kNow = absl::FromCivil(absl::CivilDay(2026, 11, 23), absl::UTCTimeZone());

std::string HexHash(std::string_view token) { return HashToken(token); }

TokenFile Parse(const std::string& text) { return ParseTokens(text, "t.yaml", kNow); }

TEST(TokenFileTest, TokenProvesItsNameUntilItExpires) {
  const TokenFile file = Parse(
      "tokens:\n  - {name: ci, sha256: " + HexHash("secret") +
      ", expires: 2026-12-01T00:00:00Z}\n  - {name: cron, sha256: " + HexHash("other") + "}\n");

  ASSERT_THAT(file.problems, IsEmpty());
  EXPECT_EQ(file.tokens.size(), 2U);
  EXPECT_EQ(file.tokens.Verify("secret", kNow)->identity,
            (Identity{.principal = "ci", .proof = Proof::kToken, .issuer = ""}));
  EXPECT_EQ(file.tokens.Verify("other", absl::FromUnixSeconds(1LL << 40))->identity.principal,
            "cron");
  const absl::Time end = absl::FromCivil(absl::CivilDay(2026, 12, 1), absl::UTCTimeZone());
  EXPECT_TRUE(file.tokens.Verify("secret", end - absl::Nanoseconds(1)).ok());
  EXPECT_THAT(file.tokens.Verify("secret", end).status().message(), HasSubstr("has expired"));
  for (const std::string& token :
       std::vector<std::string>{"", "Secret", "secret ", HexHash("secret")}) {
    EXPECT_THAT(file.tokens.Verify(token, kNow).status().message(), HasSubstr("not known"));
  }
}

TEST(TokenFileTest, TokensOfOneNameAllCount) {
  const TokenFile file = Parse("tokens: [{name: ci, sha256: " + HexHash("old") +
                               "}, {name: ci, sha256: " + HexHash("new") + "}]");
  EXPECT_TRUE(file.tokens.Verify("old", kNow).ok());
  EXPECT_TRUE(file.tokens.Verify("new", kNow).ok());
}

TEST(TokenFileTest, ExpiredTokenIsAWarning) {
  EXPECT_THAT(
      Parse("tokens: [{name: ci, sha256: " + HexHash("a") + ", expires: 2026-11-22T00:00:00Z}]")
          .warnings,
      ElementsAre("t.yaml:1: tokens[1]: has expired"));
}

TEST(TokenFileTest, ProblemsNameTheirLineAndShowNoToken) {
  const std::string hash = HexHash("a");
  const std::pair<std::string, std::string> cases[] = {
      {"token: []", "t.yaml:1: token: unknown key"},
      {"tokens: {}", "t.yaml:1: tokens: must be a list"},
      {"tokens:\n  - {name: ci, sha256: my-token}", "t.yaml:2: tokens[1].sha256: must be 64 hex"},
      {"tokens: [{sha256: " + hash + "}]", "tokens[1].name: must be 1 to 256 bytes"},
      {"tokens: [{name: anonymous, sha256: " + hash + "}]", "not \"anonymous\""},
      {"tokens: [{name: ci, sha256: " + hash + ", expires: tomorrow}]",
       "must be a time such as 2027-01-31T00:00:00Z, is \"tomorrow\""},
      {"tokens: [{name: a, sha256: " + hash + "}, {name: b, sha256: " + hash + "}]",
       "tokens[2].sha256: another entry has the same token"},
      {"tokens: [{name: ci, sha256: " + hash + ", ttl: 3s}]", "tokens[1].ttl: unknown key"}};
  for (const auto& [text, problem] : cases) {
    EXPECT_THAT(Parse(text).problems, Contains(HasSubstr(problem))) << text;
    EXPECT_THAT(Parse(text).problems, Not(Contains(HasSubstr("my-token"))));
  }
}

}  // namespace
}  // namespace lockkeeper::access
