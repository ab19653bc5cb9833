// SPDX-License-Identifier: Apache-2.0
//
// The one place that says what an error reply of Redis means for the operation that got it.
#pragma once

#include <string_view>

#include "absl/status/status.h"

namespace lockkeeper::redis {

// First word of an error reply, such as "OOM", or "ERR".
std::string_view ErrorWord(std::string_view error);

// Whether a server of a Cluster has refused a command because its keys are with another server, or
// on their way there. The same command is executed there, or a moment later.
bool IsOfMovedKeys(std::string_view error);

// Status for an operation whose command got `error`. STORE_UNAVAILABLE if Redis refused the
// command before it ran, which the `#!lua` line of every script makes sure of for lack of memory,
// replicas or disk; OUTCOME_UNKNOWN if it may have run.
absl::Status StatusOfErrorReply(std::string_view error);

}  // namespace lockkeeper::redis
