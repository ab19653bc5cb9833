// SPDX-License-Identifier: Apache-2.0
// docs/reference/policy.md shows files that can be used, and all verbs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "access/policy_file.h"
#include "access/token_file.h"
#include "support/source_tree.h"

namespace lockkeeper::access {
namespace {

using testing::ElementsAreArray;
using testing::IsEmpty;

class PolicyPageTest : public testing::Test {
 protected:
  // The example whose first line is `begin`.
  std::string Example(const std::string& begin) const {
    const size_t first = page_.find("```yaml\n" + begin);
    if (first == std::string::npos) return "";
    const size_t text = first + std::string("```yaml\n").size();
    return page_.substr(text, page_.find("```", text) - text);
  }

  const std::string page_ = support::ReadSourceFile("docs/reference/policy.md");
};

TEST_F(PolicyPageTest, PolicyCanBeUsed) {
  const PolicyFile file = ParsePolicy(Example("certificates:"), "page");
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_THAT(file.warnings, IsEmpty());
  EXPECT_EQ(file.policy.roles.size(), 2U);
  EXPECT_EQ(file.issuers.size(), 1U);
}

TEST_F(PolicyPageTest, TokensCanBeUsed) {
  const TokenFile file = ParseTokens(Example("tokens:"), "page", absl::UnixEpoch());
  EXPECT_THAT(file.problems, IsEmpty());
  EXPECT_EQ(file.tokens.size(), 1U);
}

TEST_F(PolicyPageTest, AllVerbsAreListed) {
  std::vector<std::string> listed;
  std::istringstream lines(page_.substr(page_.find("## Verbs")));
  for (std::string line; std::getline(lines, line) && !line.starts_with("## Quotas");) {
    if (line.starts_with("| `")) listed.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  std::vector<std::string> verbs;
  verbs.reserve(kVerbs);
  for (size_t i = 0; i < kVerbs; ++i) verbs.emplace_back(NameOf(static_cast<Verb>(i)));
  EXPECT_THAT(listed, ElementsAreArray(verbs));
}

}  // namespace
}  // namespace lockkeeper::access
