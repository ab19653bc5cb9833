// SPDX-License-Identifier: Apache-2.0
#include "redis/format/store_marker.h"

#include <string>

#include "gtest/gtest.h"
#include "redis/format/marker_columns.h"

namespace lockkeeper::redis {
namespace {

StoreMarker AMarker() {
  return {.service_id = "5e050c7dcb0aeec3",
          .epoch = 2,
          .run_id = "7653712581541b622f618525e459592410337254",
          .ttl_ceiling = core::Millis(5'000),
          .quarantine_end = {1'795'292'922'149'722},
          .durable = true,
          .home = "0123456789abcdef",
          .reassertion_key = "73dac6cf9d7b10be627ce72498986a5d",
          .token_floor = {1'795'292'917'098'722},
          .clock_offset = core::Micros(-60'000'123)};
}

const std::string kStamp =
    "1 5e050c7dcb0aeec3 0000000002 7653712581541b622f618525e459592410337254 00005000 "
    "1795292922149722 D";
const std::string kText = kStamp +
                          " 0123456789abcdef 73dac6cf9d7b10be627ce72498986a5d 1795292917098722 "
                          "-0000000060000123";
const std::string kBeat = " 0000000000000007 1795292917123857";

TEST(StoreMarkerTest, TextIsTheStampAndWhatDaemonsRead) {
  EXPECT_EQ(AMarker().Stamp(), kStamp);
  EXPECT_EQ(AMarker().Text(), kText);
}

TEST(StoreMarkerTest, IsReadAsItWasWritten) {
  const auto seen = ParseMarker(kText + kBeat);

  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->marker, AMarker());
  EXPECT_EQ(seen->beat.count, 7);
  EXPECT_EQ(seen->beat.at.micros, 1'795'292'917'123'857);
  EXPECT_EQ(WithoutBeat(kText + kBeat), kText);
}

TEST(StoreMarkerTest, ClockThatIsAheadIsReadAsItWasWritten) {
  StoreMarker marker = AMarker();
  for (const core::Micros offset : {core::Micros(0), core::Micros(3'600'000'000)}) {
    marker.clock_offset = offset;
    EXPECT_EQ(ParseMarker(marker.Text() + kBeat)->marker, marker);
  }
}

// The scripts cut these out of the stamp and the marker.
TEST(StoreMarkerTest, ColumnsAreWhereTheScriptsLookForThem) {
  const std::string text = kText + kBeat;

  EXPECT_EQ(text.substr(0, marker_column::kDurability.last), kStamp);
  EXPECT_EQ(marker_column::kTtlCeiling.Of(text), "00005000");
  EXPECT_EQ(marker_column::kQuarantineEnd.Of(text), "1795292922149722");
  EXPECT_EQ(marker_column::kClockOffset.Of(text), "-0000000060000123");
  EXPECT_EQ(marker_column::kBeat.Of(text), "0000000000000007");
  EXPECT_EQ(marker_column::kBeatTime.last, text.size());
}

TEST(StoreMarkerTest, WhatIsNoMarkerOfThisFormatIsNone) {
  const std::string good = kText + kBeat;
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ParseMarker(good.substr(0, length))) << length;
  }
  EXPECT_FALSE(ParseMarker(good + "0"));
  EXPECT_FALSE(ParseMarker("2" + good.substr(1)));
  for (size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] = '?';
    EXPECT_FALSE(ParseMarker(damaged)) << at;
  }
}

TEST(StoreMarkerTest, NothingIsLeftOfATextShorterThanABeat) {
  EXPECT_EQ(WithoutBeat(""), "");
  EXPECT_EQ(WithoutBeat("another type"), "");
}

}  // namespace
}  // namespace lockkeeper::redis
