// SPDX-License-Identifier: Apache-2.0
#include "telemetry/call_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/errors.h"
#include "support/telemetry/recorded_log.h"

namespace lockkeeper::telemetry {
namespace {

using core::ErrorReason;
using support::RecordedLog;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CallLogTest, RecordHasWhatIsKnown) {
  RecordedLog log;
  CallLog calls(log.logger());
  const absl::Status ok;

  calls.Write({.request_id = "r-1",
               .rpc = "Acquire",
               .peer = "ipv4:127.0.0.1:5",
               .owner_id = "host 7",
               .lock_name = "orders",
               .lease_id = core::LeaseId::Parse("0123456789abcdef0123456789abcdef"),
               .token = {42},
               .waited = core::Micros(1'234'567),
               .outcome = Outcome::kGranted,
               .status = ok,
               .elapsed = core::Micros(350)});

  EXPECT_THAT(log.Take(),
              ElementsAre(EndsWith(
                  "level=debug component=test event=rpc.answered msg=\"A request was answered\" "
                  "request_id=r-1 rpc=Acquire peer=ipv4:127.0.0.1:5 owner_id=\"host 7\" "
                  "lock_name=orders lease_id_prefix=01234567 fencing_token=42 wait_ms=1234 "
                  "outcome=granted "
                  "code=OK elapsed_us=350")));
}

TEST(CallLogTest, RecordLeavesOutWhatIsNotKnown) {
  RecordedLog log;
  CallLog calls(log.logger());
  const absl::Status ok;

  calls.Write({.rpc = "GetServerInfo", .outcome = Outcome::kDone, .status = ok});

  EXPECT_THAT(log.Take(),
              ElementsAre(EndsWith("msg=\"A request was answered\" rpc=GetServerInfo outcome=done "
                                   "code=OK elapsed_us=0")));
}

TEST(CallLogTest, ErrorHasItsReasonAndText) {
  RecordedLog log;
  CallLog calls(log.logger());
  const absl::Status status = core::InvalidField("ttl", "has to be longer");

  calls.Write({.rpc = "Extend", .status = status});

  EXPECT_THAT(log.Take(),
              ElementsAre(HasSubstr("outcome=error code=INVALID_ARGUMENT reason=INVALID_FIELD "
                                    "problem=\"ttl: has to be longer\"")));
}

struct Judged {
  absl::Status status;
  std::string expected;
};

TEST(CallLogTest, LevelDependsOnTheStatus) {
  const Judged cases[] = {
      {core::Error(ErrorReason::kLeaseLost, "m"), "level=debug component=test event=rpc.answered"},
      {core::Error(ErrorReason::kServerDraining, "m"),
       "level=debug component=test event=rpc.answered"},
      {absl::CancelledError(), "level=debug component=test event=rpc.answered"},
      {core::Error(ErrorReason::kRateLimit, "m"), "level=warn component=test event=rpc.refused"},
      {core::Error(ErrorReason::kStoreUnavailable, "m"),
       "level=warn component=test event=rpc.unavailable"},
      {core::Error(ErrorReason::kOutcomeUnknown, "m"),
       "level=warn component=test event=rpc.unavailable"},
      {core::Error(ErrorReason::kStoreCorrupt, "m"), "level=error component=test event=rpc.failed"},
      {core::Error(ErrorReason::kInvariantViolated, "m"),
       "level=error component=test event=rpc.failed"},
      {absl::UnknownError("m"), "level=error component=test event=rpc.failed"},
  };
  for (const Judged& judged : cases) {
    RecordedLog log;
    CallLog calls(log.logger());

    calls.Write({.rpc = "Acquire", .status = judged.status});

    EXPECT_THAT(log.Take(), ElementsAre(HasSubstr(judged.expected))) << judged.status;
  }
}

TEST(CallLogTest, FloodOfErrorsIsLimited) {
  RecordedLog log;
  CallLog calls(log.logger());
  const absl::Status away = core::Error(ErrorReason::kStoreUnavailable, "m");

  for (int i = 0; i < 1000; ++i) calls.Write({.rpc = "Acquire", .status = away});
  EXPECT_THAT(log.Take(), testing::SizeIs(1));

  log.Advance(std::chrono::seconds(1));
  calls.Write({.rpc = "Acquire", .status = away});
  EXPECT_THAT(log.Take(), ElementsAre(EndsWith("suppressed=999")));
}

TEST(CallLogTest, RoutineIsLeftOutAboveDebug) {
  RecordedLog log({.level = LogLevel::kInfo});
  CallLog calls(log.logger());
  const absl::Status ok;

  calls.Write({.rpc = "Acquire", .outcome = Outcome::kGranted, .status = ok});

  EXPECT_THAT(log.Take(), IsEmpty());
}

}  // namespace
}  // namespace lockkeeper::telemetry
