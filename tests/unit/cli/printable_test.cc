// SPDX-License-Identifier: Apache-2.0
#include "cli/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace lockkeeper::cli {
namespace {

TEST(PrintableTest, WhatCanBeSeenStaysAsItIs) {
  for (const std::string text :
       {"", "jobs/1 \"a\" \\n ~", "\u540d\u524d", "e\u0301", "\u0634\u0628", "\U0001f512"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, ControlsOfTheWritingDirectionAreEscaped) {
  EXPECT_EQ(Printable("a\u202eb"), "a\\u202eb");
  for (const std::string control : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c",
                                    "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"}) {
    const std::string printable = Printable("a" + control);
    EXPECT_EQ(printable.size(), 7U) << printable;
    EXPECT_EQ(printable.substr(0, 3), "a\\u") << printable;
  }
}

TEST(PrintableTest, CharactersThatAreNotShownAreEscaped) {
  EXPECT_EQ(Printable("\u00ad"), "\\u00ad") << "soft hyphen";
  EXPECT_EQ(Printable("a\u200bb\u200dc\ufeff"), "a\\u200bb\\u200dc\\ufeff");
  EXPECT_EQ(Printable("\u3164\ufe0f\ufff9"), "\\u3164\\ufe0f\\ufff9");
  EXPECT_EQ(Printable("\U000e0041"), "\\U000e0041") << "a tag";
}

TEST(PrintableTest, ControlCharactersAndMalformedBytesAreEscaped) {
  EXPECT_EQ(Printable("a\x1b[2J\n\t\x7f"), "a\\u001b[2J\\u000a\\u0009\\u007f");
  EXPECT_EQ(Printable("\u009b2J\u2028"), "\\u009b2J\\u2028");
  EXPECT_EQ(Printable("a\xff\xe2\x80"), "a\\xff\\xe2\\x80");
}

TEST(PrintableTest, LinesStayLines) {
  EXPECT_EQ(PrintableLines("\n  a\u202e\n\x1b\n"), "\n  a\\u202e\n\\u001b\n");
  EXPECT_EQ(PrintableLines(""), "");
}

}  // namespace
}  // namespace lockkeeper::cli
