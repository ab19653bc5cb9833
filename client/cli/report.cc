// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <cstdio>

#include "lockkeeper/error.h"

namespace lockkeeper::cli {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kDone;
    case absl::StatusCode::kInvalidArgument:
      return ExitCode::kBadField;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kUnavailable;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kNotAllowed;
    case absl::StatusCode::kFailedPrecondition:
      return ReasonOf(status) == ErrorReason::kLeaseLost ? ExitCode::kLeaseLost : ExitCode::kOther;
    default:
      return ExitCode::kOther;
  }
}

Report ErrorReport(const absl::Status& status, std::string_view name) {
  const bool is_lost = ReasonOf(status) == ErrorReason::kLeaseLost;
  std::string message(status.message());
  if (absl::IsUnavailable(status) && ReasonNameOf(status).empty()) {
    message = "the service cannot be reached: " + message;
  }
  // A server that gives no reason, or none at all: the code says at least something.
  std::string reason = ReasonNameOf(status);
  if (reason.empty()) reason = absl::StatusCodeToString(status.code());

  Report report(is_lost ? "lease_lost" : "error", ExitCodeOf(status),
                "lockkeeper: " + message + " (" + reason + ")");
  report.is_error = true;
  if (!name.empty()) report.json.Set("name", name);
  report.json.Set("reason", reason).Set("message", message);
  if (const auto field = FieldOf(status)) report.json.Set("field", *field);
  if (const auto delay = RetryDelayOf(status)) {
    report.json.Set("retry_delay_ms", delay->count());
  }
  return report;
}

Report UsageReport(std::string_view message) {
  Report report("error", ExitCode::kUsage, "lockkeeper: " + std::string(message));
  report.is_error = true;
  report.json.Set("reason", "USAGE").Set("message", message);
  return report;
}

void Print(const Report& report, OutputFormat format) {
  if (format == OutputFormat::kJson) {
    std::fprintf(stdout, "%s\n", report.json.ToString().c_str());
    std::fflush(stdout);
  } else if (!report.text.empty()) {
    std::FILE* out = report.is_error ? stderr : stdout;
    std::fprintf(out, "%s\n", report.text.c_str());
    std::fflush(out);
  }
}

}  // namespace lockkeeper::cli
