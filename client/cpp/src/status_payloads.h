// SPDX-License-Identifier: Apache-2.0
//
// The inside of lockkeeper/error.h: where an absl::Status of the client keeps what the server said.
#pragma once

#include <chrono>
#include <string_view>

#include "absl/status/status.h"
#include "lockkeeper/error.h"

namespace lockkeeper::client {

// Each does nothing for an empty value, and to an OK status.
void SetReasonName(absl::Status& status, std::string_view name);
void SetField(absl::Status& status, std::string_view field);
void SetRetryDelay(absl::Status& status, std::chrono::milliseconds delay);

// An error that the client makes itself.
absl::Status ErrorWithReason(absl::StatusCode code, ErrorReason reason, std::string_view message);
// An option that the client checks itself.
absl::Status InvalidOption(std::string_view option, std::string_view problem);
// The same error with another message.
absl::Status WithMessage(const absl::Status& status, std::string_view message);

}  // namespace lockkeeper::client
