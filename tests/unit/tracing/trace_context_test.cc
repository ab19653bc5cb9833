// SPDX-License-Identifier: Apache-2.0
// What W3C's trace context says of well-formed, malformed and newer headers.
#include "tracing/trace_context.h"

#include <gtest/gtest.h>

#include <string>

namespace lockkeeper::tracing {
namespace {

constexpr char kTraceparent[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(TraceparentTest, FieldsAreRead) {
  const auto context = ParseTraceparent(kTraceparent);

  ASSERT_TRUE(context.has_value());
  EXPECT_EQ(context->trace_id, (TraceId{0x0af7651916cd43dd, 0x8448eb211c80319c}));
  EXPECT_EQ(context->span_id, 0xb7ad6b7169203331);
  EXPECT_TRUE(context->sampled);
}

TEST(TraceparentTest, OnlyTheLastBitOfTheFlagsSaysSampled) {
  const std::string begin = std::string(kTraceparent).substr(0, 53);
  EXPECT_FALSE(ParseTraceparent(begin + "00")->sampled);
  EXPECT_FALSE(ParseTraceparent(begin + "02")->sampled) << "random, of level 2";
  EXPECT_FALSE(ParseTraceparent(begin + "fe")->sampled);
  EXPECT_TRUE(ParseTraceparent(begin + "03")->sampled);
  EXPECT_TRUE(ParseTraceparent(begin + "ff")->sampled);
}

TEST(TraceparentTest, OneHalfOfATraceIdMayBeZero) {
  EXPECT_TRUE(ParseTraceparent("00-00000000000000000000000000000001-b7ad6b7169203331-01"));
  EXPECT_TRUE(ParseTraceparent("00-10000000000000000000000000000000-b7ad6b7169203331-01"));
}

TEST(TraceparentTest, NewerVersionsMayHaveMoreFields) {
  const std::string newer = "cc" + std::string(kTraceparent).substr(2);
  EXPECT_TRUE(ParseTraceparent(newer));
  EXPECT_TRUE(ParseTraceparent(newer + "-"));
  EXPECT_TRUE(ParseTraceparent(newer + "-what-the-future-will-be-like"));
  EXPECT_FALSE(ParseTraceparent(newer + "x")) << "a field begins with a dash";
  EXPECT_FALSE(ParseTraceparent(kTraceparent + std::string("-more"))) << "version 00 has no more";
}

TEST(TraceparentTest, MalformedOnesAreNone) {
  const std::string good = kTraceparent;
  const std::string cases[] = {
      "",
      "-",
      "00",
      good.substr(1),
      good.substr(0, good.size() - 1),
      good + "0",
      good + " ",
      " " + good,
      "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",  // Never a version.
      "00-00000000000000000000000000000000-b7ad6b7169203331-01",  // No trace id.
      "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",  // No span id.
      "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",  // Upper case.
      "00-0af7651916cd43dd8448eb211c80319g-b7ad6b7169203331-01",
      "0g-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0x",
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-+1",
      "00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01",
      "000-af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "00-0af7651916cd43dd8448eb211c8031-9c-b7ad6b7169203331-01",
      std::string(55, '-'),
      std::string(55, '\0'),
      std::string(55, '\xff'),
      std::string(1 << 16, '0'),
  };
  for (const std::string& text : cases) EXPECT_FALSE(ParseTraceparent(text)) << text;
}

TEST(TraceparentTest, ZeroByteInsideIsNoEnd) {
  std::string text = kTraceparent;
  text[40] = '\0';
  EXPECT_FALSE(ParseTraceparent(text));
}

TEST(TracestateTest, PrintableTextUpToTheLimitIsPassedOn) {
  EXPECT_TRUE(IsTracestate(""));
  EXPECT_TRUE(IsTracestate("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"));
  EXPECT_TRUE(IsTracestate(std::string(kTracestateBytesMax, 'a')));
  EXPECT_FALSE(IsTracestate(std::string(kTracestateBytesMax + 1, 'a')));
  EXPECT_FALSE(IsTracestate("a=b\n"));
  EXPECT_FALSE(IsTracestate("a=\x7f"));
  EXPECT_FALSE(IsTracestate("a=\xc3\xa4"));
  EXPECT_FALSE(IsTracestate(std::string_view("a=\0b", 4)));
}

}  // namespace
}  // namespace lockkeeper::tracing
