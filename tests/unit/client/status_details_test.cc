// SPDX-License-Identifier: Apache-2.0
#include "transport/status_details.h"

#include <gtest/gtest.h>

#include <string>

#include "lockkeeper/error.h"
#include "lockkeeper/v1/error_reason.pb.h"
#include "support/client/fake_lock_server.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;
using support::StatusOf;

TEST(StatusDetailsTest, ReasonFieldAndDelayAreRead) {
  const absl::Status status = StatusFromGrpc(StatusOf({.code = grpc::StatusCode::INVALID_ARGUMENT,
                                                       .reason = "INVALID_FIELD",
                                                       .message = "ttl: at most 1 min",
                                                       .field = "ttl",
                                                       .retry_delay_ms = 2'500}));

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "ttl: at most 1 min");
  EXPECT_EQ(ReasonOf(status), ErrorReason::kInvalidField);
  EXPECT_EQ(FieldOf(status), "ttl");
  EXPECT_EQ(RetryDelayOf(status), 2'500ms);
}

TEST(StatusDetailsTest, StatusWithoutDetailsHasNone) {
  const absl::Status status = StatusFromGrpc({grpc::StatusCode::UNAVAILABLE, "failed to connect"});

  EXPECT_TRUE(absl::IsUnavailable(status));
  EXPECT_EQ(ReasonOf(status), std::nullopt);
  EXPECT_EQ(ReasonNameOf(status), "");
  EXPECT_EQ(FieldOf(status), std::nullopt);
  EXPECT_EQ(RetryDelayOf(status), std::nullopt);
}

TEST(StatusDetailsTest, ReasonOfANewerServerKeepsItsName) {
  const absl::Status status =
      StatusFromGrpc(StatusOf({.code = grpc::StatusCode::UNAVAILABLE, .reason = "MOON_PHASE"}));

  EXPECT_EQ(ReasonOf(status), std::nullopt);
  EXPECT_EQ(ReasonNameOf(status), "MOON_PHASE");
}

TEST(StatusDetailsTest, DetailsOfAnotherDomainAreNotTakenForOurs) {
  // A proxy in between answers with an ErrorInfo of its own.
  std::string details =
      StatusOf({.code = grpc::StatusCode::UNAVAILABLE, .reason = "LEASE_LOST"}).error_details();
  details.replace(details.find("lockkeeper"), 10, "lockbreake");

  EXPECT_EQ(ReasonOf(StatusFromGrpc({grpc::StatusCode::UNAVAILABLE, "", details})), std::nullopt);
}

TEST(StatusDetailsTest, EveryCutAndEveryFlippedBitOfTheDetailsIsSurvived) {
  const std::string details = StatusOf({.code = grpc::StatusCode::INVALID_ARGUMENT,
                                        .reason = "INVALID_FIELD",
                                        .field = "ttl",
                                        .retry_delay_ms = 2'500})
                                  .error_details();
  ASSERT_GT(details.size(), 100u);
  for (size_t i = 0; i < details.size(); ++i) {
    std::string flipped = details;
    for (int bit = 0; bit < 8; ++bit) {
      flipped[i] = static_cast<char>(details[i] ^ (1 << bit));
      for (const std::string& bytes : {flipped, details.substr(0, i)}) {
        const absl::Status status =
            StatusFromGrpc({grpc::StatusCode::INVALID_ARGUMENT, "broken", bytes});
        EXPECT_TRUE(absl::IsInvalidArgument(status));
        EXPECT_LE(RetryDelayOf(status).value_or(0ms), 25h);
      }
    }
  }
}

TEST(StatusDetailsTest, ErrorOfAnOperationCarriesTheSame) {
  v1::OperationError error;
  error.set_code(3);
  error.set_reason(v1::ERROR_REASON_INVALID_FIELD);
  error.set_message("ttl: at most 1 min");
  (*error.mutable_metadata())["field"] = "ttl";
  error.mutable_retry_delay()->set_seconds(2);
  error.mutable_retry_delay()->set_nanos(500'000'000);

  const absl::Status status = StatusFromOperation(error);

  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "ttl: at most 1 min");
  EXPECT_EQ(ReasonOf(status), ErrorReason::kInvalidField);
  EXPECT_EQ(FieldOf(status), "ttl");
  EXPECT_EQ(RetryDelayOf(status), 2'500ms);
}

TEST(StatusDetailsTest, ErrorOfAnOperationIsNeverOkWhateverItSays) {
  struct Case {
    int code;
    absl::StatusCode read;
  };
  for (const Case& each :
       {Case{0, absl::StatusCode::kUnknown}, Case{-1, absl::StatusCode::kUnknown},
        Case{17, absl::StatusCode::kUnknown}, Case{16, absl::StatusCode::kUnauthenticated},
        Case{1, absl::StatusCode::kUnavailable}}) {
    v1::OperationError error;
    error.set_code(each.code);
    error.set_reason(static_cast<v1::ErrorReason>(4711));

    EXPECT_EQ(StatusFromOperation(error).code(), each.read) << each.code;
    EXPECT_EQ(ReasonOf(StatusFromOperation(error)), std::nullopt);
  }
}

TEST(ErrorReasonTest, NumbersAndNamesAreThoseOfTheProto) {
  const auto* type = v1::ErrorReason_descriptor();
  for (int i = 0; i < type->value_count(); ++i) {
    if (type->value(i)->number() == 0) continue;
    const auto reason = static_cast<ErrorReason>(type->value(i)->number());
    EXPECT_EQ("ERROR_REASON_" + std::string(NameOf(reason)), type->value(i)->name());
  }
  EXPECT_EQ(NameOf(static_cast<ErrorReason>(type->value_count())), "");
  EXPECT_EQ(NameOf(ErrorReason::kNotAcquired), "NOT_ACQUIRED");
}

}  // namespace
}  // namespace lockkeeper::client
