// SPDX-License-Identifier: Apache-2.0
//
// The first number that a script answers for an operation. Each script has its own outcomes from 1
// on, named in its header; those from 80 on are common to all, named in scripts/record.lua. C++ has
// the names of both in the generated redis/scripts.h (`AcquireScriptOutcome`, `kOutcomeLine`...).
#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "redis/operation.h"

namespace lockkeeper::redis {

// The outcome of an operation; 0, which no script answers, if the reply is malformed.
int64_t OutcomeOf(const OperationReply& reply);

// Error for the outcomes that are common to all scripts, and for those that a script does not have.
absl::Status StatusOfOutcome(int64_t outcome, std::string_view lock_name);

}  // namespace lockkeeper::redis
