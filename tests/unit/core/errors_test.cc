// SPDX-License-Identifier: Apache-2.0
//
// The error table against what the API promises of each error, and what statuses carry. That names
// and numbers are those of the protos, tests/unit/rpc compares.
#include "core/errors.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lockkeeper::core {
namespace {

using absl::StatusCode;
using enum ErrorReason;

TEST(ErrorTableTest, RowsAreWhatTheServicePromises) {
  struct Promise {
    ErrorReason reason;
    std::string name;
    StatusCode code;
    Resend resend;
  };
  const std::vector<Promise> promises = {
      {kInvalidField, "INVALID_FIELD", StatusCode::kInvalidArgument, Resend::kNever},
      {kLeaseLost, "LEASE_LOST", StatusCode::kFailedPrecondition, Resend::kNewLeaseId},
      {kLeaseEnded, "LEASE_ENDED", StatusCode::kFailedPrecondition, Resend::kNewLeaseId},
      {kStoreUnavailable, "STORE_UNAVAILABLE", StatusCode::kUnavailable, Resend::kSameLeaseId},
      {kOutcomeUnknown, "OUTCOME_UNKNOWN", StatusCode::kUnavailable, Resend::kSameLeaseId},
      {kQuorumNotReached, "QUORUM_NOT_REACHED", StatusCode::kUnavailable, Resend::kSameLeaseId},
      {kAssuranceNotReached, "ASSURANCE_NOT_REACHED", StatusCode::kUnavailable,
       Resend::kSameLeaseId},
      {kStoreQuarantined, "STORE_QUARANTINED", StatusCode::kUnavailable, Resend::kSameLeaseId},
      {kServerDraining, "SERVER_DRAINING", StatusCode::kUnavailable, Resend::kElsewhere},
      {kWaiterLimit, "WAITER_LIMIT", StatusCode::kResourceExhausted, Resend::kLater},
      {kLeaseLimit, "LEASE_LIMIT", StatusCode::kResourceExhausted, Resend::kLater},
      {kRateLimit, "RATE_LIMIT", StatusCode::kResourceExhausted, Resend::kLater},
      {kStoreCorrupt, "STORE_CORRUPT", StatusCode::kDataLoss, Resend::kNever},
      {kFormatTooNew, "FORMAT_TOO_NEW", StatusCode::kDataLoss, Resend::kNever},
      {kInvariantViolated, "INVARIANT_VIOLATED", StatusCode::kInternal, Resend::kNever},
      {kUnauthenticated, "UNAUTHENTICATED", StatusCode::kUnauthenticated, Resend::kNever},
      {kPermissionDenied, "PERMISSION_DENIED", StatusCode::kPermissionDenied, Resend::kNever},
      {kAuditUnavailable, "AUDIT_UNAVAILABLE", StatusCode::kUnavailable, Resend::kElsewhere},
  };
  for (const Promise& promise : promises) {
    const ErrorRow& row = RowOf(promise.reason);
    EXPECT_EQ(row.reason, promise.reason) << promise.name;
    EXPECT_EQ(row.name, promise.name);
    EXPECT_EQ(row.code, promise.code) << promise.name;
    EXPECT_EQ(row.resend, promise.resend) << promise.name;

    const absl::Status status = Error(promise.reason, "why");
    EXPECT_EQ(status.code(), promise.code) << promise.name;
    EXPECT_EQ(status.message(), "why");
    EXPECT_EQ(ReasonOf(status), promise.reason) << promise.name;
  }
}

TEST(ErrorTest, InvalidFieldNamesTheFieldAndTheProblem) {
  const absl::Status status = InvalidField("labels[2].key", "is empty");

  EXPECT_EQ(ReasonOf(status), kInvalidField);
  EXPECT_EQ(FieldOf(status), "labels[2].key");
  EXPECT_EQ(status.message(), "labels[2].key: is empty");
}

TEST(ErrorTest, DelayIsCarried) {
  const absl::Status status = ErrorWithDelay(kStoreQuarantined, "held back", Millis(1'500));

  EXPECT_EQ(ReasonOf(status), kStoreQuarantined);
  EXPECT_EQ(RetryDelayOf(status), Millis(1'500));
}

TEST(ErrorTest, StatusesHaveOnlyWhatTheyWereGiven) {
  const absl::Status plain = Error(kLeaseLost, "lost");
  EXPECT_EQ(FieldOf(plain), std::nullopt);
  EXPECT_EQ(RetryDelayOf(plain), std::nullopt);

  for (const absl::Status& foreign : {absl::OkStatus(), absl::UnknownError("elsewhere")}) {
    EXPECT_EQ(ReasonOf(foreign), std::nullopt);
    EXPECT_EQ(FieldOf(foreign), std::nullopt);
    EXPECT_EQ(RetryDelayOf(foreign), std::nullopt);
  }
}

// An operation whose error this does not name as harmless has to be cleaned up after.
TEST(ErrorTest, OnlyAnUnknownOrUnreadableOutcomeMayHaveHappened) {
  for (int number = 1; number <= kErrorReasons; ++number) {
    const auto reason = static_cast<ErrorReason>(number);
    EXPECT_EQ(MayHaveHappened(Error(reason, "")),
              reason == kOutcomeUnknown || reason == kInvariantViolated)
        << RowOf(reason).name;
  }
  EXPECT_FALSE(MayHaveHappened(absl::OkStatus()));
  EXPECT_TRUE(MayHaveHappened(absl::UnknownError("from elsewhere")));
}

}  // namespace
}  // namespace lockkeeper::core
