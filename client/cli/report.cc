// SPDX-License-Identifier: Apache-2.0
#include "cli/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "cli/printable.h"
#include "cli/standard_streams.h"
#include "lockkeeper/error.h"

namespace lockkeeper::cli {
namespace {

// The options of the command line, by the field of the API that each sets.
constexpr auto kFields = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"name", "NAME"},
    {"lease_id", "lease id"},
    {"fencing_token", "fencing token"},
    {"ttl", "--ttl"},
    {"wait_timeout", "--wait"},
    {"owner", "--owner"},
    {"labels", "--label"},
    {"lock_delay", "--lock-delay"},
    {"max_hold", "--max-hold"},
    {"hold_at_least", "--hold-at-least"},
    {"reassertion", "--reassertion"},
    {"prefix", "--prefix"},
    {"page_size", "--limit"},
    {"holder_principal", "PRINCIPAL"},
    {"reason", "--reason"},
});

// The server's message with the names of options instead of fields.
std::string InWordsOfTheCommandLine(const absl::Status& status) {
  const std::string message(status.message());
  const std::string field = FieldOf(status).value_or("");
  const auto* known = std::find_if(kFields.begin(), kFields.end(),
                                   [&](const auto& each) { return each.first == field; });
  if (known == kFields.end() || !message.starts_with(field + ": ")) return message;
  return std::string(known->second) + message.substr(field.size());
}

std::string OnStdout(const Report& report, OutputFormat format) {
  switch (format) {
    case OutputFormat::kJson:
      return report.json.ToString();
    case OutputFormat::kShell:
      return report.exit_code == 0 ? report.json.ToShell()
                                   : "(exit " + std::to_string(report.exit_code) + ")";
    case OutputFormat::kText:
      break;
  }
  return report.is_error ? "" : PrintableLines(report.text);
}

}  // namespace

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

std::string NameOfError(const absl::Status& status) {
  std::string reason = ReasonNameOf(status);
  // Without a reason from the server the code is the next best name.
  return reason.empty() ? absl::StatusCodeToString(status.code()) : reason;
}

Report ErrorReport(const absl::Status& status, std::string_view name) {
  const bool is_lost = ReasonOf(status) == ErrorReason::kLeaseLost;
  const std::string message = InWordsOfTheCommandLine(status);
  const std::string reason = NameOfError(status);

  Report report(is_lost ? "lease_lost" : "error", ExitCodeOf(status),
                "lockkeeper: " + message + " (" + reason + ")");
  report.is_error = true;
  if (message.starts_with("cannot reach ")) {
    report.text +=
        "\n  Does lockkeeperd run there? --server or LOCKKEEPER_SERVER names another address.";
  }
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

std::string NotWritten(const absl::Status& why) {
  return "lockkeeper: cannot write to standard output: " + std::string(why.message());
}

int Print(Report report, OutputFormat format) {
  const bool has_failed = format == OutputFormat::kShell && report.exit_code != 0;
  const bool is_for_stderr = has_failed || (format == OutputFormat::kText && report.is_error);
  if (is_for_stderr && !report.text.empty()) {
    // An error here cannot be reported anywhere.
    WriteLine(stderr, PrintableLines(report.text)).IgnoreError();
  }
  const std::string text = OnStdout(report, format);
  if (text.empty()) return report.exit_code;
  const absl::Status written = WriteLine(stdout, text);
  if (written.ok()) {
    if (report.lease) std::move(*report.lease).Detach();
    return report.exit_code;
  }
  std::string message = NotWritten(written);
  if (report.lease) message += "; the lock is released again";
  report.lease.reset();
  WriteLine(stderr, message).IgnoreError();
  return report.exit_code == 0 ? static_cast<int>(ExitCode::kNotPrinted) : report.exit_code;
}

}  // namespace lockkeeper::cli
