// SPDX-License-Identifier: Apache-2.0
#include "text/utf8.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace lockkeeper::text {
namespace {

constexpr uint32_t kCodePointMax = 0x10ffff;

// The bytes that the number takes in the scheme of UTF-8, whether they may be used or not.
std::string Encode(uint32_t code_point, int length) {
  if (length == 1) return std::string(1, static_cast<char>(code_point));
  std::string text;
  for (int i = 1; i < length; ++i, code_point >>= 6) {
    text.insert(text.begin(), static_cast<char>(0x80 | (code_point & 0x3f)));
  }
  const uint32_t mark = 0xff00U >> length & 0xff;
  text.insert(text.begin(), static_cast<char>(mark | code_point));
  return text;
}

int LengthOf(uint32_t code_point) {
  if (code_point < 0x80) return 1;
  if (code_point < 0x800) return 2;
  return code_point < 0x10000 ? 3 : 4;
}

TextFault ExpectedFault(uint32_t code_point) {
  if (code_point >= 0xd800 && code_point <= 0xdfff) return TextFault::kNotUtf8;
  const bool control = code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
                       code_point == 0x2028 || code_point == 0x2029;
  return control ? TextFault::kControlCharacter : TextFault::kNone;
}

TEST(Utf8Test, EveryCodePointIsJudged) {
  for (uint32_t code_point = 0; code_point <= kCodePointMax; ++code_point) {
    const std::string text = Encode(code_point, LengthOf(code_point));
    ASSERT_EQ(FindTextFault(text), ExpectedFault(code_point)) << std::hex << code_point;
  }
}

TEST(Utf8Test, CodePointsBeyondUnicodeAreRefused) {
  for (const uint32_t code_point : {kCodePointMax + 1, 0x13ffffU, 0x1fffffU}) {
    EXPECT_EQ(FindTextFault(Encode(code_point, 4)), TextFault::kNotUtf8);
  }
  EXPECT_EQ(FindTextFault(Encode(0x200000, 5)), TextFault::kNotUtf8);
  EXPECT_EQ(FindTextFault(Encode(0x4000000, 6)), TextFault::kNotUtf8);
}

// An overlong form could smuggle a brace or a control character past whoever looks for its byte.
TEST(Utf8Test, OverlongFormsAreRefused) {
  for (uint32_t code_point = 0; code_point < 0x10000; ++code_point) {
    for (int length = LengthOf(code_point) + 1; length <= 4; ++length) {
      ASSERT_EQ(FindTextFault(Encode(code_point, length)), TextFault::kNotUtf8)
          << std::hex << code_point << " in " << length << " bytes";
    }
  }
}

TEST(Utf8Test, TextThatEndsWithinACharacterIsRefused) {
  for (const uint32_t code_point : {0xe9U, 0x20acU, 0x1f512U}) {
    std::string text = Encode(code_point, LengthOf(code_point));
    for (text.pop_back(); !text.empty(); text.pop_back()) {
      EXPECT_EQ(FindTextFault(text), TextFault::kNotUtf8);
      EXPECT_EQ(FindTextFault("a" + text), TextFault::kNotUtf8);
      EXPECT_EQ(FindTextFault(text + "a"), TextFault::kNotUtf8);
    }
  }
}

TEST(Utf8Test, ByteThatBeginsNothingIsRefused) {
  for (int byte = 0x80; byte <= 0xff; ++byte) {
    EXPECT_EQ(FindTextFault(std::string(1, static_cast<char>(byte))), TextFault::kNotUtf8);
  }
}

TEST(Utf8Test, FirstFaultCounts) {
  EXPECT_EQ(FindTextFault("good \n bad \xff"), TextFault::kControlCharacter);
  EXPECT_EQ(FindTextFault("bad \xff good \n"), TextFault::kNotUtf8);
  EXPECT_EQ(FindTextFault("all good: \xC3\xA9 \xF0\x9F\x94\x92"), TextFault::kNone);
  EXPECT_EQ(FindTextFault(""), TextFault::kNone);
  EXPECT_EQ(FindTextFault(std::string_view("a\0b", 3)), TextFault::kControlCharacter);
}

TEST(Utf8Test, ControlCharactersAreUtf8) {
  EXPECT_TRUE(IsUtf8(""));
  EXPECT_TRUE(IsUtf8("a\n\x7f\xC2\x80 \xF0\x9F\x94\x92"));
  EXPECT_FALSE(IsUtf8("a\n\xC2"));
  EXPECT_FALSE(IsUtf8("\xED\xA0\x80"));
}

}  // namespace
}  // namespace lockkeeper::text
