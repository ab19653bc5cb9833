// SPDX-License-Identifier: Apache-2.0
#include "text/escape.h"

#include <gtest/gtest.h>

#include "text/problem.h"

namespace lockkeeper::text {
namespace {

using namespace std::string_literals;

struct Case {
  std::string text;
  std::string json;
  std::string value;  // Of key=value.
};

TEST(EscapeTest, TextsStayInTheirLine) {
  const Case cases[] = {
      {"plain-1.2:3/[x]", R"("plain-1.2:3/[x]")", "plain-1.2:3/[x]"},
      {"", R"("")", R"("")"},
      {"two words", R"("two words")", R"("two words")"},
      {"a=b", R"("a=b")", R"("a=b")"},
      {"say \"hi\"", R"("say \"hi\"")", R"("say \"hi\"")"},
      {"back\\slash", R"("back\\slash")", R"("back\\slash")"},
      {"a\nb\rc\td", R"("a\nb\rc\td")", R"("a\nb\rc\td")"},
      {"nul\0!"s, R"("nul\u0000!")", R"("nul\x00!")"},
      {"\x1b[31m", R"("\u001b[31m")", R"("\x1b[31m")"},
      {"\x7f", R"("\u007f")", R"("\x7f")"},
      {"\xc3\xb6\xe2\x82\xac\xf0\x9f\x94\x92", "\"\xc3\xb6\xe2\x82\xac\xf0\x9f\x94\x92\"",
       "\xc3\xb6\xe2\x82\xac\xf0\x9f\x94\x92"},
      // U+0085 and U+2028: line ends to some readers.
      {"a\xc2\x85z", R"("a\u0085z")", R"("a\xc2\x85z")"},
      {"a\xe2\x80\xa8z", R"("a\u2028z")", R"("a\xe2\x80\xa8z")"},
      // Broken UTF-8: a stray byte, an overlong form, a surrogate, a character cut short.
      {"a\xffz", "\"a\xef\xbf\xbdz\"", R"("a\xffz")"},
      {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", R"("\xc0\xaf")"},
      {"\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", R"("\xed\xa0\x80")"},
      {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"", R"("\xe2\x82")"},
      {"\xe2\x82z", "\"\xef\xbf\xbd\xef\xbf\xbdz\"", R"("\xe2\x82z")"},
  };
  for (const Case& expected : cases) {
    std::string json = "before ";
    AppendJsonString(expected.text, json);
    EXPECT_EQ(json, "before " + expected.json);

    std::string value = "before ";
    AppendTextValue(expected.text, value);
    EXPECT_EQ(value, "before " + expected.value);
  }
}

TEST(EscapeTest, QuotedTextsAreAlwaysInQuotes) {
  std::string quoted = "before ";
  AppendQuoted("plain", quoted);
  AppendQuoted("say \"\xff\"\n", quoted);
  EXPECT_EQ(quoted, R"(before "plain""say \"\xff\"\n")");
}

TEST(EscapeTest, OneLineKeepsAllThatCanBeShown) {
  EXPECT_EQ(InOneLine("say \"\xc3\xb6\" \\n"), "say \"\xc3\xb6\" \\n");
  EXPECT_EQ(InOneLine("a\nb\x1b\xff\xe2\x80\xa8z"), R"(a\x0ab\x1b\xff\xe2\x80\xa8z)");
}

TEST(QuotedTest, IsCutBetweenCharacters) {
  const std::string most(79, 'n');
  EXPECT_EQ(Quoted(most + "x"), "\"" + most + "x\"");
  EXPECT_EQ(Quoted(most + "xy"), "\"" + most + "x...\"");
  EXPECT_EQ(Quoted(most + "\xc3\xb6"), "\"" + most + "...\"");
}

TEST(CutAtCharacterTest, EndsBetweenCharacters) {
  EXPECT_EQ(CutAtCharacter("abc", 3), "abc");
  EXPECT_EQ(CutAtCharacter("abc", 2), "ab");
  EXPECT_EQ(CutAtCharacter("abc", 0), "");
  EXPECT_EQ(CutAtCharacter("a\xc3\xb6", 2), "a");
  EXPECT_EQ(CutAtCharacter("\xf0\x9f\x94\x92z", 4), "\xf0\x9f\x94\x92");
  for (size_t bytes = 0; bytes < 4; ++bytes) {
    EXPECT_EQ(CutAtCharacter("\xf0\x9f\x94\x92z", bytes), "") << bytes;
  }
}

TEST(CutAtCharacterTest, IsNotLedAstrayByBrokenUtf8) {
  EXPECT_EQ(CutAtCharacter(std::string(100, '\x80'), 50).size(), 47U);
}

}  // namespace
}  // namespace lockkeeper::text
