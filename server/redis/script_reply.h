// SPDX-License-Identifier: Apache-2.0
//
// Reads what scripts answer for one operation; which script answers what is in its header.
#pragma once

#include <optional>

#include "core/requests.h"
#include "core/waiting_line.h"
#include "redis/operation.h"

namespace lockkeeper::redis {

// What was asked of a lease, as scripts answer it.
struct LeaseTerms {
  core::Millis ttl{};
  core::Millis lock_delay{};
  core::NodeTime max_hold_end;  // 0: none.
  core::NodeTime hold_end;      // By hold_at_least. 0: none.
};
LeaseTerms ReadTerms(const OperationReply& reply);

// Outcome, token, remaining, terms: of acquire.lua, extend.lua and reassert.lua.
core::Lease ReadLease(const OperationReply& reply, const core::LeaseId& lease_id,
                      core::Assurance assurance);

// Outcome, token, remaining, "<ttl> <number> <line>" of an offer: of acquire.lua.
core::Lease ReadOffered(const OperationReply& reply, const core::LeaseId& lease_id,
                        core::Assurance assurance);

// Outcome, number, position, "<free in us> <line>": of acquire.lua.
core::Waiting ReadWaiting(const OperationReply& reply);

// Outcome, free in (us), waiters, owner: of acquire.lua.
core::Contention ReadContention(const OperationReply& reply);

// Of withdraw.lua: outcome, more; and, for a place in line that was left, position,
// "<waiters> <free in us> <owner>". Nothing for outcomes that are common to all scripts.
std::optional<core::WithdrawResult> ReadWithdrawResult(const OperationReply& reply);

}  // namespace lockkeeper::redis
