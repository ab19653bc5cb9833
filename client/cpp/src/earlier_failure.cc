// SPDX-License-Identifier: Apache-2.0
#include "earlier_failure.h"

#include <string>

#include "lockkeeper/error.h"
#include "status_payloads.h"

namespace lockkeeper::client {

void EarlierFailure::Note(const absl::Status& status) {
  const bool is_unanswered =
      absl::IsDeadlineExceeded(status) || ReasonOf(status) == ErrorReason::kOutcomeUnknown;
  if (!is_unanswered) cause_ = status;
}

absl::Status EarlierFailure::Explain(const absl::Status& end) const {
  if (cause_.ok() || !absl::IsDeadlineExceeded(end)) return end;
  std::string reason = ReasonNameOf(cause_);
  if (reason.empty()) reason = absl::StatusCodeToString(cause_.code());
  return WithMessage(end, std::string(end.message()) + "; before that: " +
                              std::string(cause_.message()) + " (" + reason + ")");
}

}  // namespace lockkeeper::client
