// SPDX-License-Identifier: Apache-2.0
//
// Checks requests against the limits, before anything is sent to the store. Every refusal is an
// INVALID_FIELD that names the field of the proto message and the limit.
//
// Thread-safety: thread-safe, called by the rpc threads.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "core/configured_limits.h"
#include "core/requests.h"

namespace lockkeeper::core {

absl::Status Validate(const AcquireRequest& request, const ConfiguredLimits& configured);
absl::Status Validate(const ExtendRequest& request, const ConfiguredLimits& configured);
absl::Status Validate(const ReleaseRequest& request);
absl::Status Validate(const FenceRequest& request);
absl::Status Validate(const ListRequest& request);

// A lock's name: 1 to limits::kNameBytesMax bytes of UTF-8, no control characters, no braces.
absl::Status ValidateName(std::string_view field, std::string_view name);

// Free text of at most `bytes_max` bytes of UTF-8 without control characters.
absl::Status ValidateText(std::string_view field, std::string_view text, size_t bytes_max);

}  // namespace lockkeeper::core
