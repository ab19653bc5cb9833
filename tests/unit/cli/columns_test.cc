// SPDX-License-Identifier: Apache-2.0
#include "cli/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace lockkeeper::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr char kJapanese[] = "\u540d\u524d\u30ed\u30c3\u30af";  // 5 characters, 10 columns.
constexpr char kAccents[] = "e\u0301le\u0300ve";                // "eleve" with two accents.

TEST(ColumnsTest, WideCharactersCountTwiceAndCombiningOnesNot) {
  EXPECT_EQ(ColumnsOf(""), 0U);
  EXPECT_EQ(ColumnsOf("jobs/1"), 6U);
  EXPECT_EQ(ColumnsOf("\u00e4\u0436"), 2U);
  EXPECT_EQ(ColumnsOf(kJapanese), 10U);
  EXPECT_EQ(ColumnsOf("\uff21\U0001f512\uac00"), 6U) << "full width, emoji, Hangul";
  EXPECT_EQ(ColumnsOf(kAccents), 5U);
  EXPECT_EQ(ColumnsOf("\uffff"), 1U) << "without a width";
}

TEST(ColumnsTest, BeginningEndsBetweenCharacters) {
  EXPECT_EQ(FirstColumns("abc", 2), "ab");
  EXPECT_EQ(FirstColumns("abc", 9), "abc");
  EXPECT_EQ(FirstColumns(kJapanese, 5), "\u540d\u524d") << "half of a character is none";
  EXPECT_EQ(FirstColumns(kAccents, 1), "e\u0301") << "with its accent";
  EXPECT_EQ(FirstColumns("abc", 0), "");
}

TEST(ColumnsTest, WhatIsCutOffAtTheEndIsMarked) {
  EXPECT_EQ(CutEnd("abc", 3), "abc");
  EXPECT_EQ(CutEnd("abcd", 3), "ab~");
  EXPECT_EQ(CutEnd(kJapanese, 10), kJapanese);
  EXPECT_EQ(CutEnd(kJapanese, 9), "\u540d\u524d\u30ed\u30c3~");
  EXPECT_EQ(CutEnd(kJapanese, 8), "\u540d\u524d\u30ed~");
  EXPECT_EQ(CutEnd("abc", 1), "~");
  EXPECT_EQ(CutEnd("abc", 0), "");
}

TEST(ColumnsTest, WhatIsCutInTheMiddleKeepsBothEnds) {
  EXPECT_EQ(CutMiddle("abc", 3), "abc");
  EXPECT_EQ(CutMiddle("jobs/some/long/path/name-17", 19), "jobs/some~h/name-17");
  EXPECT_EQ(CutMiddle("abcdef", 4), "a~ef");
  EXPECT_EQ(CutMiddle(kJapanese, 8), "\u540d~\u30c3\u30af");
  EXPECT_EQ(CutMiddle(kAccents, 4), "e\u0301~ve");
  EXPECT_EQ(CutMiddle("abce\u0301", 2), "~e\u0301") << "an accent stays with its letter";
  EXPECT_EQ(CutMiddle("abcd\u0301", 1), "~");
  EXPECT_EQ(CutMiddle("abc", 0), "");
}

TEST(ColumnsTest, LongTextsAreWrapped) {
  EXPECT_THAT(InLines("abcdefg", 3), ElementsAre("abc", "def", "g"));
  EXPECT_THAT(InLines("", 3), IsEmpty());
  EXPECT_THAT(InLines(kJapanese, 5), ElementsAre("\u540d\u524d", "\u30ed\u30c3", "\u30af"));
  EXPECT_THAT(InLines("\u540da", 1), ElementsAre("\u540d", "a")) << "it comes to an end";
}

}  // namespace
}  // namespace lockkeeper::cli
