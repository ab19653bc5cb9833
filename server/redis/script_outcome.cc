// SPDX-License-Identifier: Apache-2.0
#include "redis/script_outcome.h"

#include <string>

#include "core/errors.h"
#include "redis/scripts.h"

namespace lockkeeper::redis {

using core::ErrorReason;

int64_t OutcomeOf(const OperationReply& reply) {
  const Reply& first = reply.values.front();
  return first.type == Reply::Type::kInteger ? first.integer : 0;
}

absl::Status StatusOfOutcome(int64_t outcome, std::string_view lock_name) {
  const std::string lock = "the record of lock '" + std::string(lock_name) + "' ";
  switch (outcome) {
    case kOutcomeCorrupt:
      return core::Error(ErrorReason::kStoreCorrupt, lock + "cannot be read");
    case kOutcomeFormatTooNew:
      return core::Error(ErrorReason::kFormatTooNew, lock + "has a newer format than this daemon");
    default:
      return core::Error(ErrorReason::kInvariantViolated,
                         "a script answered the unknown outcome " + std::to_string(outcome));
  }
}

}  // namespace lockkeeper::redis
