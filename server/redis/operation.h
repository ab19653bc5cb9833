// SPDX-License-Identifier: Apache-2.0
//
// One operation on one lock, on its way to a script through operation_queue.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "core/types.h"
#include "redis/guard/store_guard.h"
#include "redis/node/command.h"
#include "redis/node/node.h"
#include "redis/node/reply.h"

namespace lockkeeper::redis {

// What a script answered for one operation: `width` replies, and the node's clock. Valid during the
// call of `done`.
struct OperationReply {
  core::NodeTime now;
  std::span<const Reply> values;
  std::string_view lock_name;
  Route route;
  core::Instant sent;
  bool by_right_clock = true;  // False: the node's clock was set during the call.
};

// Whether the script gets the key of the line besides the record's. One key is enough for a lock
// without waiters; the script asks for the other one when it finds that it needs it.
enum class LineKey { kWhenAsked, kAlways };

// How an operation is treated while its lock has many others.
enum class Rank {
  kNewcomer,  // May be answered RATE_LIMIT.
  kOther,
  kRenewal,       // Does not wait for operations of other leases.
  kContinuation,  // The second half of what was carried out in its turn: waits for nothing.
};

using OperationDone = absl::AnyInvocable<void(absl::StatusOr<OperationReply>) &&>;

struct Operation {
  const ScriptSource* script = nullptr;
  std::string lock_name;
  CommandPart arguments;  // As many as the script takes for each lock.
  size_t reply_width = 1;
  Rank rank = Rank::kOther;
  core::LeaseId lease_id;  // All zeros: of no lease.
  LineKey line_key = LineKey::kWhenAsked;
  // The longest that it may close the lock for, from its execution on: see StoreGuard.
  core::Millis closes_for{};
  // Whether it may give the lock to somebody new, which a quarantine refuses.
  Granting granting = Granting::kNothingNew;
  // Whether the answer is still valid if the node's clock was set during the call: the operation
  // ends something, or its answer is for people.
  bool survives_clock_step = false;
  core::Instant deadline;
  OperationDone done;
};

}  // namespace lockkeeper::redis
