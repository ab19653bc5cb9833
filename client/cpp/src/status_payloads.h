// SPDX-License-Identifier: Apache-2.0
//
// The implementation side of lockkeeper/error.h: stores the details of a server's error in an
// absl::Status.
#pragma once

#include <chrono>
#include <string_view>

#include "absl/status/status.h"
#include "lockkeeper/error.h"

namespace lockkeeper::client {

// These ignore an empty value, and leave an OK status unchanged.
void SetReasonName(absl::Status& status, std::string_view name);
void SetField(absl::Status& status, std::string_view field);
void SetRetryDelay(absl::Status& status, std::chrono::milliseconds delay);

// An error that the client makes itself.
absl::Status ErrorWithReason(absl::StatusCode code, ErrorReason reason, std::string_view message);
// The error for an option that the client itself rejects.
absl::Status InvalidOption(std::string_view option, std::string_view problem);
// The same error with another message.
absl::Status WithMessage(const absl::Status& status, std::string_view message);

}  // namespace lockkeeper::client
