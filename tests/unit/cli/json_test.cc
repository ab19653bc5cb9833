// SPDX-License-Identifier: Apache-2.0
#include "cli/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "utf8.h"

namespace lockkeeper::cli {
namespace {

TEST(JsonStringTest, WhatJsonCannotCarryIsEscaped) {
  EXPECT_EQ(JsonString(""), R"("")");
  EXPECT_EQ(JsonString("a\"b\\c/"), R"("a\"b\\c/")");
  EXPECT_EQ(JsonString("\n\r\t\x01\x1f\x7f"), "\"\\n\\r\\t\\u0001\\u001f\\u007f\"");
  EXPECT_EQ(JsonString(std::string_view("a\0b", 3)), R"("a\u0000b")");
  EXPECT_EQ(JsonString("caf\xC3\xA9 \xF0\x9F\x94\x92"), "\"caf\xC3\xA9 \xF0\x9F\x94\x92\"");
}

TEST(JsonStringTest, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(JsonString("\xFF"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(JsonString("a\xC3"), "\"a\xEF\xBF\xBD\"") << "cut";
  EXPECT_EQ(JsonString("\xC0\x80z"), "\"\xEF\xBF\xBD\xEF\xBF\xBDz\"") << "overlong";
}

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

TEST(Utf8Test, OnlyWellFormedTextIsUtf8) {
  for (const char* text : {"", "a", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF",
                           "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(client::IsUtf8(text)) << JsonString(text);
  }
  for (const char* text : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xE2\x82", "\xE2(\xA1"}) {
    EXPECT_FALSE(client::IsUtf8(text)) << JsonString(text);
  }
}

}  // namespace
}  // namespace lockkeeper::cli
