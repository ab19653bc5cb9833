// SPDX-License-Identifier: Apache-2.0
//
// The first number that a script answers for an operation. Each script has its own outcomes from 1
// on, named in its header and in redis/scripts.h (`AcquireScriptOutcome`...); those from 80 on are
// common to all.
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "redis/operation.h"

namespace lockkeeper::redis {

// The operation has to see the line: the operation queue sends it again with the line's key.
inline constexpr int64_t kOutcomeLine = 80;
// The guard's permit did not fit: the script answered {now, this} and has done nothing.
inline constexpr int64_t kOutcomeGuard = 81;
// The marker is an older one than the daemon has seen: the same.
inline constexpr int64_t kOutcomeOlder = 82;
inline constexpr int64_t kOutcomeCorrupt = 90;
inline constexpr int64_t kOutcomeFormatTooNew = 91;

// Outcome of an operation; 0, which no script answers, if the reply has another shape.
int64_t OutcomeOf(const OperationReply& reply);

// Error for the outcomes that are common to all scripts, and for those that a script does not have.
absl::Status StatusOfOutcome(int64_t outcome, std::string_view lock_name);

}  // namespace lockkeeper::redis
