// SPDX-License-Identifier: Apache-2.0
//
// What a command that looks for trouble has found, and how it is told.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/report.h"

namespace lockkeeper::cli {

struct Finding {
  enum class Severity { kOk, kNote, kWarning, kError } severity = Severity::kOk;
  std::string server;  // Empty: about all of them.
  std::string check;   // One of the names in docs/reference/cli.md.
  std::string text;    // What is wrong and what to do, in one line.
};

// The findings of one server, in the order of the checks.
class Chart {
 public:
  explicit Chart(std::string server) : server_(std::move(server)) {}

  void Add(Finding::Severity severity, const char* check, const std::string& text) {
    findings_.push_back({severity, server_, check, text});
  }
  void Ok(const char* check, const std::string& text) { Add(Finding::Severity::kOk, check, text); }
  void Note(const char* check, const std::string& text) {
    Add(Finding::Severity::kNote, check, text);
  }
  void Warn(const char* check, const std::string& text) {
    Add(Finding::Severity::kWarning, check, text);
  }
  void Fail(const char* check, const std::string& text) {
    Add(Finding::Severity::kError, check, text);
  }

  std::vector<Finding> Take() && { return std::move(findings_); }

 private:
  const std::string server_;
  std::vector<Finding> findings_;
};

// Exit code 0: all is well; 1: there are warnings; 2: there are errors.
Report ReportOf(const std::vector<Finding>& findings);

}  // namespace lockkeeper::cli
