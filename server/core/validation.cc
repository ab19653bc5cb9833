// SPDX-License-Identifier: Apache-2.0
#include "core/validation.h"

#include <algorithm>
#include <string>

#include "core/errors.h"
#include "core/limits.h"
#include "text/duration.h"
#include "text/problem.h"
#include "text/utf8.h"

namespace lockkeeper::core {
namespace {

// `setting`: what `high` is configured by. Empty: nothing.
absl::Status ValidateRange(std::string_view field, Millis value, Millis low, Millis high,
                           const std::string& setting = "") {
  if (value >= low && value <= high) return absl::OkStatus();
  return InvalidField(field, "has to be from " + text::FormatDuration(low) + " to " +
                                 text::FormatDuration(high) +
                                 (setting.empty() ? "" : " (the server's " + setting + ")") +
                                 ", is " + text::FormatDuration(value));
}

absl::Status ValidateTtl(std::string_view name, Millis ttl, const ConfiguredLimits& configured) {
  const Ttls ttls = configured.TtlsOf(name);
  const std::string setting =
      ttls.prefix.empty() ? "lease.max_ttl" : "lease.by_prefix for " + text::Quoted(ttls.prefix);
  return ValidateRange("ttl", ttl, limits::kTtlMin, ttls.max_ttl, setting);
}

absl::Status ValidateLabels(const Labels& labels) {
  if (labels.size() > limits::kLabelsMax) {
    return InvalidField("labels", "at most " + std::to_string(limits::kLabelsMax) +
                                      " labels, has " + std::to_string(labels.size()));
  }
  for (const auto& [key, value] : labels) {
    if (key.empty()) return InvalidField("labels", "a key is empty");
    if (key.find('=') != std::string::npos) return InvalidField("labels", "a key contains '='");
    if (auto status = ValidateText("labels", key, limits::kLabelKeyBytesMax); !status.ok()) {
      return status;
    }
    if (auto status = ValidateText("labels", value, limits::kLabelValueBytesMax); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

absl::Status ValidateToken(std::string_view field, FencingToken token, int64_t low) {
  if (token.value >= low && token.value <= limits::kTokenMax) return absl::OkStatus();
  return InvalidField(field, "has to be from " + std::to_string(low) + " to " +
                                 std::to_string(limits::kTokenMax) + ", is " +
                                 std::to_string(token.value));
}

absl::Status ValidateAcquireTimes(const AcquireRequest& request,
                                  const ConfiguredLimits& configured) {
  if (auto status = ValidateTtl(request.name, request.ttl, configured); !status.ok()) return status;
  if (auto status = ValidateRange("wait_timeout", request.wait_timeout, Millis(0),
                                  configured.max_wait, "waiters.max_wait");
      !status.ok()) {
    return status;
  }
  if (auto status =
          ValidateRange("lock_delay", request.lock_delay, Millis(0), limits::kLockDelayMax);
      !status.ok()) {
    return status;
  }
  if (auto status =
          ValidateRange("hold_at_least", request.hold_at_least, Millis(0), limits::kHoldAtLeastMax);
      !status.ok()) {
    return status;
  }
  if (request.max_hold == Millis(0)) return absl::OkStatus();
  return ValidateRange("max_hold", request.max_hold, limits::kMaxHoldMin, limits::kMaxHoldMax);
}

}  // namespace

absl::Status ValidateText(std::string_view field, std::string_view text, size_t bytes_max) {
  if (text.size() > bytes_max) {
    return InvalidField(field, "at most " + std::to_string(bytes_max) + " bytes, has " +
                                   std::to_string(text.size()));
  }
  switch (text::FindTextFault(text)) {
    case text::TextFault::kNone:
      return absl::OkStatus();
    case text::TextFault::kNotUtf8:
      return InvalidField(field, "is not valid UTF-8");
    case text::TextFault::kControlCharacter:
      return InvalidField(field, "contains a control character");
  }
  return Error(ErrorReason::kInvariantViolated, "unknown text fault");
}

absl::Status ValidateName(std::string_view field, std::string_view name) {
  if (name.empty()) {
    return InvalidField(field,
                        "has to be 1 to " + std::to_string(limits::kNameBytesMax) + " bytes");
  }
  if (std::any_of(name.begin(), name.end(), [](char c) { return c == '{' || c == '}'; })) {
    return InvalidField(field, "contains '{' or '}', which Redis reads as a hash tag");
  }
  return ValidateText(field, name, limits::kNameBytesMax);
}

absl::Status Validate(const AcquireRequest& request, const ConfiguredLimits& configured) {
  if (auto status = ValidateName("name", request.name); !status.ok()) return status;
  if (request.attempt < 0 || request.attempt > limits::kAttemptMax) {
    return InvalidField("attempt", "has to be from 0 to " + std::to_string(limits::kAttemptMax) +
                                       ", is " + std::to_string(request.attempt));
  }
  if (auto status = ValidateAcquireTimes(request, configured); !status.ok()) return status;
  if (auto status = ValidateText("owner", request.owner, limits::kOwnerBytesMax); !status.ok()) {
    return status;
  }
  return ValidateLabels(request.labels);
}

absl::Status Validate(const ExtendRequest& request, const ConfiguredLimits& configured) {
  if (auto status = ValidateName("name", request.name); !status.ok()) return status;
  if (request.ttl != Millis(0)) {
    if (auto status = ValidateTtl(request.name, request.ttl, configured); !status.ok())
      return status;
  }
  if (auto status = ValidateToken("fencing_token", request.token, 0); !status.ok()) return status;
  return ValidateText("reassertion", request.reassertion, limits::kReassertionBytesMax);
}

absl::Status Validate(const ReleaseRequest& request) { return ValidateName("name", request.name); }

absl::Status Validate(const FenceRequest& request) {
  if (auto status = ValidateName("name", request.name); !status.ok()) return status;
  return ValidateToken("fencing_token", request.token, 1);
}

absl::Status Validate(const ListRequest& request) {
  if (auto status = ValidateText("prefix", request.prefix, limits::kNameBytesMax); !status.ok()) {
    return status;
  }
  if (request.page_size < 1 || request.page_size > limits::kPageSizeMax) {
    return InvalidField("page_size", "has to be from 1 to " + std::to_string(limits::kPageSizeMax) +
                                         ", is " + std::to_string(request.page_size));
  }
  return ValidateText("page_token", request.page_token, limits::kPageTokenBytesMax);
}

}  // namespace lockkeeper::core
