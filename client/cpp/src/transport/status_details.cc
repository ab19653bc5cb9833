// SPDX-License-Identifier: Apache-2.0
#include "transport/status_details.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "status_payloads.h"
#include "transport/convert.h"

namespace lockkeeper::client {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// Field numbers of google/rpc/{status,error_details}.proto.
constexpr int kStatusDetails = 3;
constexpr int kAnyTypeUrl = 1;
constexpr int kAnyValue = 2;
constexpr int kErrorInfoReason = 1;
constexpr int kErrorInfoDomain = 2;
constexpr int kBadRequestViolations = 1;
constexpr int kViolationField = 1;
constexpr int kRetryInfoDelay = 1;
constexpr int kDurationSeconds = 1;
constexpr int kDurationNanos = 2;

// The longest delay that is accepted, in seconds: a day.
constexpr int64_t kDelayMax = 24 * 60 * 60;

// The prefix of the reasons in the proto.
constexpr std::string_view kReasonPrefix = "ERROR_REASON_";

// Calls `visit` with the content of each field `number` that holds bytes. False if `bytes` is
// malformed.
template <typename Visit>
bool ForEachBytes(const std::string& bytes, int number, const Visit& visit) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(bytes)) return false;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == UnknownField::TYPE_LENGTH_DELIMITED) {
      visit(field.length_delimited());
    }
  }
  return true;
}

std::string BytesOf(const std::string& message, int number) {
  std::string found;
  ForEachBytes(message, number, [&](const std::string& bytes) { found = bytes; });
  return found;
}

int64_t NumberOf(const std::string& message, int number) {
  UnknownFieldSet fields;
  if (!fields.ParseFromString(message)) return 0;
  int64_t found = 0;
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    if (field.number() == number && field.type() == UnknownField::TYPE_VARINT) {
      found = static_cast<int64_t>(field.varint());
    }
  }
  return found;
}

void AddDetail(const std::string& any, absl::Status& status) {
  const std::string type_url = BytesOf(any, kAnyTypeUrl);
  const std::string_view type = std::string_view(type_url).substr(type_url.rfind('/') + 1);
  const std::string value = BytesOf(any, kAnyValue);
  if (type == "google.rpc.ErrorInfo") {
    if (BytesOf(value, kErrorInfoDomain) == "lockkeeper") {
      SetReasonName(status, BytesOf(value, kErrorInfoReason));
    }
  } else if (type == "google.rpc.BadRequest") {
    SetField(status, BytesOf(BytesOf(value, kBadRequestViolations), kViolationField));
  } else if (type == "google.rpc.RetryInfo") {
    const std::string delay = BytesOf(value, kRetryInfoDelay);
    const int64_t seconds = std::clamp(NumberOf(delay, kDurationSeconds), int64_t{0}, kDelayMax);
    SetRetryDelay(status,
                  std::chrono::seconds(seconds) +
                      std::chrono::milliseconds(NumberOf(delay, kDurationNanos) / 1'000'000));
  }
}

// Texts of gRPC that do not name the cause, and what they mean.
constexpr auto kConnectionFaults = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"Trying to connect an http1.x server", "a server for HTTP/1 answers there, not for gRPC"},
    {"tcp handshaker shutdown", "no answer to the attempt to connect"},
    {"connection attempt timed out before receiving SETTINGS frame",
     "it accepts connections, but does not answer"},
    {"Socket closed", "the connection was closed"},
});

// gRPC's text goes from the general to the cause: "failed to connect to all addresses; last error:
// UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused".
std::string ConnectionFault(absl::string_view message) {
  const size_t colon = message.rfind(": ");
  std::string cause(colon == absl::string_view::npos ? message : message.substr(colon + 2));
  for (const auto& [said, meant] : kConnectionFaults) {
    if (cause == said) return std::string(meant);
  }
  const bool is_word = cause.size() > 1 && cause[1] >= 'a' && cause[1] <= 'z';
  if (is_word && cause[0] >= 'A' && cause[0] <= 'Z') cause[0] = static_cast<char>(cause[0] + 32);
  return cause;
}

}  // namespace

absl::Status StatusFromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  // The numbers of both are those of google.rpc.Code.
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  ForEachBytes(status.error_details(), kStatusDetails,
               [&](const std::string& any) { AddDetail(any, result); });
  return result;
}

absl::Status StatusOfUncancelled(const grpc::Status& status, std::string_view address) {
  const std::string peer(address);
  absl::Status result = StatusFromGrpc(status);
  if (result.ok() || !ReasonNameOf(result).empty()) return result;
  switch (result.code()) {
    case absl::StatusCode::kCancelled:
      return absl::UnavailableError(peer + " cut the call off: " + status.error_message());
    case absl::StatusCode::kUnimplemented:
      return absl::UnavailableError(
          "the server at " + peer +
          " is not lockkeeperd, or is an old version: " + status.error_message());
    case absl::StatusCode::kUnavailable:
      return WithMessage(result, "cannot reach " + peer + ": " + ConnectionFault(result.message()));
    case absl::StatusCode::kDeadlineExceeded:
      return WithMessage(result, peer + " does not answer");
    default:
      return result;
  }
}

absl::Status StatusFromOperation(const v1::OperationError& error) {
  constexpr int kCodeMax = static_cast<int>(absl::StatusCode::kUnauthenticated);
  if (error.code() == static_cast<int>(absl::StatusCode::kCancelled)) {
    return absl::UnavailableError("the operation was cut off: " + error.message());
  }
  const bool is_code = error.code() > 0 && error.code() <= kCodeMax;
  absl::Status status(
      is_code ? static_cast<absl::StatusCode>(error.code()) : absl::StatusCode::kUnknown,
      error.message());
  if (error.reason() != v1::ERROR_REASON_UNSPECIFIED) {
    const std::string name = v1::ErrorReason_Name(error.reason());
    SetReasonName(status,
                  std::string_view(name).substr(std::min(kReasonPrefix.size(), name.size())));
  }
  if (const auto field = error.metadata().find("field"); field != error.metadata().end()) {
    SetField(status, field->second);
  }
  if (error.has_retry_delay()) {
    SetRetryDelay(status, std::chrono::duration_cast<std::chrono::milliseconds>(
                              FromProto(error.retry_delay())));
  }
  return status;
}

}  // namespace lockkeeper::client
