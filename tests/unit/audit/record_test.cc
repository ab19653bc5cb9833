// SPDX-License-Identifier: Apache-2.0
#include "audit/record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/limits.h"

namespace lockkeeper::audit {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;
using telemetry::Outcome;
using testing::AllOf;
using testing::HasSubstr;

// 2026-01-02T03:04:05.678Z
constexpr system_clock::time_point kTime{milliseconds(1'767'323'045'678)};

std::string LineOf(const Record& record) {
  RecordWriter writer;
  std::string line;
  writer.Append(record, line);
  return line;
}

TEST(RecordTest, HasAllFieldsOfAGrant) {
  const Origin origin("ci", "ipv4:10.0.0.7:5123", "ticket-17");
  const Record grant{.time = kTime,
                     .verb = "acquire",
                     .outcome = Outcome::kGranted,
                     .origin = &origin,
                     .lock = "jobs/1",
                     .owner = "host:17",
                     .token = {1'767'323'045'678'901},
                     .ttl = milliseconds(30'000),
                     .waited = core::Micros(1'001),
                     .reason = {},
                     .details = {{"offered", true}}};

  EXPECT_EQ(LineOf(grant),
            R"({"time":"2026-01-02T03:04:05.678Z","verb":"acquire","outcome":"granted",)"
            R"("lock":"jobs/1","fencing_token":1767323045678901,"principal":"ci",)"
            R"("peer":"ipv4:10.0.0.7:5123","request_id":"ticket-17","owner":"host:17",)"
            R"("ttl_ms":30000,"waited_ms":2,"offered":true})"
            "\n");
}

TEST(RecordTest, LeavesOutWhatIsNotKnown) {
  const Origin nothing("", "", "");
  EXPECT_EQ(
      LineOf({.time = kTime, .verb = "reload", .outcome = Outcome::kDone, .origin = &nothing}),
      "{\"time\":\"2026-01-02T03:04:05.678Z\",\"verb\":\"reload\",\"outcome\":\"done\"}\n");
}

TEST(RecordTest, DetailsOfValueZeroStand) {
  EXPECT_THAT(LineOf({.time = kTime,
                      .verb = "x",
                      .details = {{"dropped", int64_t{0}}, {"now", false}, {"why", ""}}}),
              HasSubstr(R"(,"dropped":0,"now":false,"why":""})"));
}

// A name that would end its string, begin a line or be no UTF-8 stays one text of one line.
TEST(RecordTest, TextsFromOutsideAreEscaped) {
  const std::string hostile =
      "a\",\"outcome\":\"granted\n{\\ \x01\x7f\xff \xe2\x80\xa8 \xf0\x9f\x94\x92";
  const Origin origin(hostile, hostile, hostile);
  const Record record{.time = kTime,
                      .verb = "acquire",
                      .origin = &origin,
                      .lock = hostile,
                      .owner = hostile,
                      .details = {{"problem", hostile}}};
  const std::string line = LineOf(record);

  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::string escaped =
      "\"a\\\",\\\"outcome\\\":\\\"granted\\n{\\\\ \\u0001\\u007f\xef\xbf\xbd \\u2028 "
      "\xf0\x9f\x94\x92\"";
  for (const char* field : {"principal", "peer", "request_id", "lock", "owner", "problem"}) {
    EXPECT_THAT(line, HasSubstr("\"" + std::string(field) + "\":" + escaped)) << field;
  }
}

TEST(RecordTest, LongTextsAreCut) {
  const std::string line = LineOf({.time = kTime,
                                   .verb = "acquire",
                                   .lock = std::string(100'000, 'l'),
                                   .owner = std::string(100'000, 'o'),
                                   .details = {{"problem", std::string(100'000, 'p')}}});
  EXPECT_THAT(line, AllOf(HasSubstr("\"" + std::string(core::limits::kNameBytesMax, 'l') + "\""),
                          HasSubstr("\"" + std::string(core::limits::kOwnerBytesMax, 'o') + "\""),
                          HasSubstr("\"" + std::string(1'024, 'p') + "\"")));
}

TEST(RecordTest, TimesOfTheSameWriterFollowTheClock) {
  RecordWriter writer;
  const auto time_at = [&](system_clock::time_point time) {
    std::string line;
    writer.Append({.time = time, .verb = "x"}, line);
    return line.substr(9, 24);
  };
  EXPECT_EQ(time_at(kTime), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(time_at(kTime + std::chrono::microseconds(999)), "2026-01-02T03:04:05.678Z");
  EXPECT_EQ(time_at(kTime + milliseconds(322)), "2026-01-02T03:04:06.000Z");
  EXPECT_EQ(time_at(kTime), "2026-01-02T03:04:05.678Z") << "a clock that was set back";
}

}  // namespace
}  // namespace lockkeeper::audit
