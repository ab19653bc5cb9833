// SPDX-License-Identifier: Apache-2.0
//
// What a command has to say at its end, for people and for programs, and the exit codes. The codes
// and the names of outcomes are a promise: docs/reference/exit_codes.md and cli.md list them.
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
  kUsage = 64,
  kBadField = 65,
  kUnavailable = 69,  // Or the outcome is unknown.
  kLeaseLost = 70,
  kNotPrinted = 74,  // Done, but what came of it could not be written to standard output.
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
  bool is_error = false;  // Text then goes to stderr.

  // A lease that nobody can use if the report is not read: it is left held once the report is
  // printed, and released otherwise.
  std::optional<Lease> lease;
};

// An error of a call about `name` (empty: about no lock).
Report ErrorReport(const absl::Status& status, std::string_view name);

// A command line that cannot be understood.
Report UsageReport(std::string_view message);

// Exit code of an error of a call.
ExitCode ExitCodeOf(const absl::Status& status);

// Prints the report and returns the exit code: as text, as one JSON object on stdout, or as
// variables to be evaluated by a shell. A shell that evaluates anything but success fails with the
// exit code; what happened is then told on stderr. An outcome that cannot be written is an error
// that is told on stderr.
int Print(Report report, OutputFormat format);

}  // namespace lockkeeper::cli
