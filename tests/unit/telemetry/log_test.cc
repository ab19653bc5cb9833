// SPDX-License-Identifier: Apache-2.0
// What a record looks like in both forms, and that JSON reads back whatever it contains.
#include "telemetry/log.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "support/telemetry/recorded_log.h"
#include "telemetry/log_fields.h"
#include "telemetry/log_format.h"

namespace lockkeeper::telemetry {
namespace {

using core::Millis;
using support::RecordedLog;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const core::LeaseId kLeaseId = *core::LeaseId::Parse("0123456789abcdef0123456789abcdef");

google::protobuf::Struct ParseJson(const std::string& line) {
  google::protobuf::Struct object;
  const auto status = google::protobuf::util::JsonStringToMessage(line, &object);
  EXPECT_TRUE(status.ok()) << status.ToString() << " in " << line;
  return object;
}

TEST(LogTest, TextHasTheFixedFieldsFirst) {
  RecordedLog log;

  log.logger().Info("store.up", "The store answers",
                    {field::Address("127.0.0.1:6379"), field::Connection(3)});

  EXPECT_THAT(
      log.Take(),
      ElementsAre("ts=2026-01-02T03:04:05.678901Z level=info component=test "
                  "event=store.up msg=\"The store answers\" address=127.0.0.1:6379 connection=3"));
}

TEST(LogTest, JsonHasTheSameFieldsWithTypes) {
  RecordedLog log({.format = LogFormat::kJson});

  log.logger().Error("rpc.failed", "Failed",
                     {field::LockName("a \"b\""), field::FencingToken({(int64_t{1} << 53) - 1}),
                      LogField("flag", true), LogField("ratio", 0.25),
                      LogField("infinite", std::numeric_limits<double>::infinity())});

  EXPECT_THAT(log.Take(), ElementsAre(R"({"ts":"2026-01-02T03:04:05.678901Z","level":"error",)"
                                      R"("component":"test","event":"rpc.failed","msg":"Failed",)"
                                      R"("lock_name":"a \"b\"","fencing_token":9007199254740991,)"
                                      R"("flag":true,"ratio":0.25,"infinite":null})"));
}

TEST(LogTest, LeaseIdsAreCutToTheirPrefix) {
  for (const LogFormat format : {LogFormat::kText, LogFormat::kJson}) {
    RecordedLog log({.format = format});

    log.logger().Info("e", "m", {field::LeaseIdPrefix(kLeaseId)});

    const std::vector<std::string> lines = log.Take();
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_THAT(lines[0], HasSubstr("01234567"));
    EXPECT_THAT(lines[0], Not(HasSubstr("012345678")));
  }
}

TEST(LogTest, JsonReadsBackWhateverItContains) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "protobuf's maps have another layout in programs with the thread sanitizer";
#endif
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  const std::string texts[] = {"",
                               "plain",
                               "l\xc3\xb6",
                               "\"\\/\b\f\n\r\t",
                               "\xe2\x80\xa8\xe2\x80\xa9",
                               std::string("\0", 1)};
  RecordedLog log({.format = LogFormat::kJson});
  for (const std::string& text : texts) {
    log.logger().Info("e", "m", {field::LockName(text)});

    const std::vector<std::string> lines = log.Take();
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_EQ(lines[0].find('\n'), std::string::npos);
    EXPECT_EQ(ParseJson(lines[0]).fields().at("lock_name").string_value(), text);
  }

  // What is no UTF-8 does not read back the same, but does read.
  log.logger().Info("e", "m", {field::LockName(all_bytes)});
  const std::vector<std::string> lines = log.Take();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(ParseJson(lines[0]).fields().at("lock_name").string_value(),
              testing::StartsWith(all_bytes.substr(0, 128) + "\xef\xbf\xbd"));
}

TEST(LogTest, LongTextsAreCut) {
  RecordedLog log;
  const std::string fits(kLogTextBytesMax, 'x');

  log.logger().Info("e", "m", {field::LockName(fits)});
  EXPECT_THAT(log.Take(), ElementsAre(EndsWith("=" + fits)));

  log.logger().Info("e", "m", {field::LockName(fits + "x")});
  EXPECT_THAT(log.Take(), ElementsAre(EndsWith("=" + fits + "...")));
}

TEST(LogTest, LevelCanBeChanged) {
  RecordedLog log({.level = LogLevel::kWarn});
  const Logger logger = log.logger();

  log.log().SetLevel(LogLevel::kDebug);
  logger.Debug("a.b", "");
  log.log().SetLevel(LogLevel::kError);
  logger.Warn("c.d", "");

  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("event=a.b")));
  EXPECT_FALSE(logger.Enabled(LogLevel::kWarn));
  EXPECT_EQ(log.log().options().level, LogLevel::kError);
}

TEST(LogTest, RecordsBelowTheLevelAreLeftOut) {
  RecordedLog log({.level = LogLevel::kWarn});
  const Logger logger = log.logger();

  logger.Debug("a", "m");
  logger.Info("b", "m");
  logger.Warn("c", "m");
  logger.Error("d", "m");

  EXPECT_FALSE(logger.Enabled(LogLevel::kInfo));
  EXPECT_TRUE(logger.Enabled(LogLevel::kWarn));
  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("level=warn component=test event=c"),
                                      HasSubstr("level=error component=test event=d")));
}

TEST(LogTest, LostLinesAreToldOnce) {
  RecordedLog log;

  log.output().set_lost(7);
  log.logger().Info("a", "m", {field::Pid(1)});
  log.logger().Info("b", "m");
  log.output().set_lost(9);
  log.logger().Info("c", "m");

  EXPECT_THAT(log.Take(), ElementsAre(EndsWith("pid=1 lost=7"), Not(HasSubstr("lost")),
                                      EndsWith("msg=m lost=2")));
}

TEST(LogLimitTest, LetsOneThroughPerIntervalAndCountsTheRest) {
  RecordedLog log;
  LogLimit limit(Millis(1000));
  const Logger logger = log.logger();

  for (int i = 0; i < 5; ++i) logger.WriteLimited(limit, LogLevel::kWarn, "a", "m");
  EXPECT_THAT(log.Take(), ElementsAre(Not(HasSubstr("suppressed"))));

  log.Advance(Millis(999));
  logger.WriteLimited(limit, LogLevel::kWarn, "a", "m");
  EXPECT_THAT(log.Take(), IsEmpty());

  log.Advance(Millis(1));
  logger.WriteLimited(limit, LogLevel::kWarn, "a", "m", {field::Rpc("Acquire")});
  EXPECT_THAT(log.Take(), ElementsAre(EndsWith("rpc=Acquire suppressed=5")));

  log.Advance(Millis(1000));
  logger.WriteLimited(limit, LogLevel::kWarn, "a", "m");
  EXPECT_THAT(log.Take(), ElementsAre(Not(HasSubstr("suppressed"))));
}

TEST(LogLimitTest, RecordsBelowTheLevelDoNotCount) {
  RecordedLog log({.level = LogLevel::kWarn});
  LogLimit limit(Millis(1000));
  const Logger logger = log.logger();

  logger.WriteLimited(limit, LogLevel::kDebug, "a", "m");
  logger.WriteLimited(limit, LogLevel::kWarn, "b", "m");

  EXPECT_THAT(log.Take(), ElementsAre(HasSubstr("event=b")));
}

TEST(LogLimitTest, CountsEveryRecordOfManyThreads) {
  constexpr int kThreads = 4;
  constexpr int kRecords = 1000;
  LogLimit limit(Millis(1000));
  std::atomic<int64_t> written{0};
  const core::Instant now{};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kRecords; ++k) {
        int64_t suppressed = 0;
        if (limit.Allows(now, suppressed)) written += 1 + suppressed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();

  int64_t suppressed = 0;
  ASSERT_TRUE(limit.Allows(now + Millis(1000), suppressed));
  EXPECT_EQ(written + suppressed, kThreads * kRecords);
}

}  // namespace
}  // namespace lockkeeper::telemetry
