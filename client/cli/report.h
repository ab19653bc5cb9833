// SPDX-License-Identifier: Apache-2.0
//
// The outcome of a command, for people and for programs, and the exit codes. The codes and the
// names of outcomes are a promise: docs/reference/exit_codes.md and cli.md list them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "cli/json.h"
#include "lockkeeper/lease.h"

namespace lockkeeper::cli {

enum class ExitCode {
  kDone = 0,
  kOther = 1,
  kWarned = 1,  // Of doctor and backup-check, as the next.
  kSick = 2,
  kUsage = 64,
  kBadField = 65,
  kUnavailable = 69,  // Or the outcome is unknown.
  kLeaseLost = 70,
  kNotPrinted = 74,  // Done, but the outcome could not be written to standard output.
  kNotAcquired = 75,
  kRefuted = 76,  // Not released, stale, expired, unknown token, not found.
  kNotAllowed = 77,
};

enum class OutputFormat { kText, kJson, kShell };

// One outcome. Set what applies, in the order of the reference.
struct Report {
  // `outcome`: one of the names in docs/reference/cli.md.
  Report(std::string_view outcome, ExitCode code, std::string message)
      : exit_code(static_cast<int>(code)), text(std::move(message)) {
    json.Set("outcome", outcome);
  }

  int exit_code;
  JsonObject json;
  std::string text;       // One or more lines without the last end of line.
  bool is_error = false;  // If true, the text goes to stderr.

  // Only the report has the lease id. So the lease stays held if the report could be printed, and
  // is released otherwise.
  std::optional<Lease> lease;
};

// The report of a failed call about `name`, which is empty if the call is about no lock.
Report ErrorReport(const absl::Status& status, std::string_view name);

// The report of a wrong command line.
Report UsageReport(std::string_view message);

// The reason of the error table, or the name of the gRPC code if the server gave none.
std::string NameOfError(const absl::Status& status);

// The exit code for the error of a call.
ExitCode ExitCodeOf(const absl::Status& status);

// What is said on stderr if something could not be written to stdout.
std::string NotWritten(const absl::Status& why);

// Prints the report and returns the exit code: as text, as one JSON object on stdout, or as
// variables to be evaluated by a shell. If the command failed, the shell text fails with the exit
// code when it is evaluated, and the message goes to stderr. If the outcome cannot be written, an
// error goes to stderr.
int Print(Report report, OutputFormat format);

}  // namespace lockkeeper::cli
