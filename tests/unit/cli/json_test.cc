// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace lockkeeper::cli {
namespace {

TEST(JsonObjectTest, MembersStayInOrder) {
  JsonObject inner;
  inner.Set("k", "v");
  JsonObject object;
  object.Set("outcome", "listed")
      .Set("token", std::numeric_limits<int64_t>::max())
      .Set("count", -1)
      .Set("yes", true)
      .Set("no", false)
      .Set("inner", inner)
      .Set("none", std::vector<JsonObject>())
      .Set("words", std::vector<std::string>{"a\"", "b"})
      .Set("locks", std::vector<JsonObject>{inner, JsonObject()});

  EXPECT_EQ(object.ToString(),
            R"({"outcome":"listed","token":9223372036854775807,"count":-1,"yes":true,"no":false,)"
            R"("inner":{"k":"v"},"none":[],"words":["a\"","b"],"locks":[{"k":"v"},{}]})");
}

TEST(JsonObjectTest, ShellGetsOneQuotedVariableForEachMember) {
  JsonObject inner;
  inner.Set("k", "it's");
  JsonObject object;
  object.Set("outcome", "granted")
      .Set("name", "a'b $(c) `d` \"e\"\nf\\")
      .Set("fencing_token", 7)
      .Set("previous_lease_expired", false)
      .Set("labels", inner);

  EXPECT_EQ(object.ToShell(),
            "LOCKKEEPER_OUTCOME='granted'\n"
            "LOCKKEEPER_LOCK='a'\\''b $(c) `d` \"e\"\nf\\'\n"
            "LOCKKEEPER_FENCING_TOKEN='7'\n"
            "LOCKKEEPER_PREVIOUS_LEASE_EXPIRED='false'\n"
            "LOCKKEEPER_LABELS='{\"k\":\"it'\\''s\"}'");
}

}  // namespace
}  // namespace lockkeeper::cli
