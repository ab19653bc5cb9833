// SPDX-License-Identifier: Apache-2.0
#include "rpc/status_convert.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "lockkeeper/v1/error_reason.pb.h"

namespace lockkeeper::rpc {
namespace {

using core::ErrorReason;

google::rpc::Status DetailsOf(const grpc::Status& status) {
  google::rpc::Status details;
  EXPECT_TRUE(details.ParseFromString(status.error_details()));
  return details;
}

template <typename Detail>
std::optional<Detail> Find(const google::rpc::Status& details) {
  for (const auto& any : details.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

std::vector<ErrorReason> AllReasons() {
  std::vector<ErrorReason> reasons;
  const auto* type = v1::ErrorReason_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    if (type->value(i)->number() == 0) continue;
    reasons.push_back(static_cast<ErrorReason>(type->value(i)->number()));
  }
  return reasons;
}

TEST(StatusConvertTest, RowsHaveTheNamesAndNumbersOfTheProto) {
  for (const ErrorReason reason : AllReasons()) {
    const int number = static_cast<int>(reason);
    EXPECT_EQ(core::RowOf(reason).reason, reason);
    EXPECT_EQ("ERROR_REASON_" + std::string(core::RowOf(reason).name),
              v1::ErrorReason_Name(static_cast<v1::ErrorReason>(number)));
  }
}

TEST(StatusConvertTest, EveryRowTellsItsReason) {
  ASSERT_EQ(AllReasons().size(), static_cast<size_t>(core::kErrorReasons));
  for (const ErrorReason reason : AllReasons()) {
    const core::ErrorRow& row = core::RowOf(reason);

    const grpc::Status status = ToGrpcStatus(core::Error(reason, "what happened"));

    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(row.code)) << row.name;
    EXPECT_EQ(status.error_message(), "what happened");
    const google::rpc::Status details = DetailsOf(status);
    EXPECT_EQ(details.code(), static_cast<int>(row.code));
    EXPECT_EQ(details.message(), "what happened");
    const auto info = Find<google::rpc::ErrorInfo>(details);
    ASSERT_TRUE(info) << row.name;
    EXPECT_EQ(info->reason(), row.name);
    EXPECT_EQ(info->domain(), "lockkeeper");
  }
}

TEST(StatusConvertTest, WhatCanBeSentAgainAsItIsSaysWhen) {
  for (const ErrorReason reason : AllReasons()) {
    const core::Resend resend = core::RowOf(reason).resend;
    const bool again = resend == core::Resend::kSameLeaseId || resend == core::Resend::kElsewhere ||
                       resend == core::Resend::kLater;

    const auto retry =
        Find<google::rpc::RetryInfo>(DetailsOf(ToGrpcStatus(core::Error(reason, "what happened"))));

    EXPECT_EQ(retry.has_value(), again) << core::RowOf(reason).name;
    if (!retry) continue;
    const auto& delay = retry->retry_delay();
    EXPECT_GT(delay.seconds() * 1'000'000'000 + delay.nanos(), 0);
    EXPECT_LE(delay.seconds(), 1);
  }
}

TEST(StatusConvertTest, DelayOfTheStatusWins) {
  const auto retry = Find<google::rpc::RetryInfo>(DetailsOf(ToGrpcStatus(core::ErrorWithDelay(
      ErrorReason::kStoreQuarantined, "loss suspected", core::Millis(61'500)))));

  ASSERT_TRUE(retry);
  EXPECT_EQ(retry->retry_delay().seconds(), 61);
  EXPECT_EQ(retry->retry_delay().nanos(), 500'000'000);
}

TEST(StatusConvertTest, BadFieldIsNamed) {
  const grpc::Status status = ToGrpcStatus(core::InvalidField("ttl", "has to be shorter"));

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  const google::rpc::Status details = DetailsOf(status);
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(details)->metadata().at("field"), "ttl");
  const auto bad_request = Find<google::rpc::BadRequest>(details);
  ASSERT_TRUE(bad_request);
  ASSERT_EQ(bad_request->field_violations_size(), 1);
  EXPECT_EQ(bad_request->field_violations(0).field(), "ttl");
  EXPECT_EQ(bad_request->field_violations(0).description(), "ttl: has to be shorter");
}

TEST(StatusConvertTest, OtherErrorsHaveNoBadRequest) {
  EXPECT_FALSE(Find<google::rpc::BadRequest>(
      DetailsOf(ToGrpcStatus(core::Error(ErrorReason::kLeaseLost, "it ended")))));
}

TEST(StatusConvertTest, OkStaysOk) {
  const grpc::Status status = ToGrpcStatus(absl::OkStatus());
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.error_details(), "");
}

TEST(StatusConvertTest, ForeignStatusIsAnInvariantViolated) {
  const grpc::Status status = ToGrpcStatus({absl::StatusCode::kNotFound, "who made this?"});

  EXPECT_EQ(status.error_code(), grpc::StatusCode::INTERNAL);
  EXPECT_EQ(Find<google::rpc::ErrorInfo>(DetailsOf(status))->reason(), "INVARIANT_VIOLATED");
}

}  // namespace
}  // namespace lockkeeper::rpc
