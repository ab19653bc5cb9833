// SPDX-License-Identifier: Apache-2.0
#include "cli/findings.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace lockkeeper::cli {
namespace {

using Severity = Finding::Severity;

const char* WordOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      break;
  }
  return "error";
}

}  // namespace

Report ReportOf(const std::vector<Finding>& findings) {
  const auto count = [&](Severity severity) {
    return std::count_if(findings.begin(), findings.end(),
                         [&](const Finding& each) { return each.severity == severity; });
  };
  const int64_t errors = count(Severity::kError);
  const int64_t warnings = count(Severity::kWarning);
  std::string text;
  std::vector<JsonObject> shown;
  const std::string* server = nullptr;
  for (const Finding& finding : findings) {
    if (server == nullptr || *server != finding.server) {
      absl::StrAppend(&text, finding.server.empty() ? "all servers" : finding.server, "\n");
    }
    server = &finding.server;
    std::string word = WordOf(finding.severity);
    word.resize(sizeof("warning"), ' ');
    absl::StrAppend(&text, "  ", word, finding.check, ": ", finding.text, "\n");
    shown.emplace_back()
        .Set("server", finding.server)
        .Set("check", finding.check)
        .Set("severity", WordOf(finding.severity))
        .Set("message", finding.text);
  }
  absl::StrAppend(&text, errors + warnings == 0
                             ? "all is well"
                             : absl::StrCat("errors: ", errors, ", warnings: ", warnings));
  const ExitCode code = errors > 0     ? ExitCode::kSick
                        : warnings > 0 ? ExitCode::kWarned
                                       : ExitCode::kDone;
  Report report(errors > 0 ? "errors" : warnings > 0 ? "warnings" : "well", code, text);
  report.json.Set("errors", errors).Set("warnings", warnings).Set("findings", shown);
  return report;
}

}  // namespace lockkeeper::cli
