// SPDX-License-Identifier: Apache-2.0
//
// Operations of a session to the domain, and their answers back: what convert.h does for calls.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/session.h"
#include "core/validation.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "rpc/keeper_source.h"
#include "telemetry/outcome.h"

namespace lockkeeper::rpc {

// What operations get from their session. Lifetime: borrows its parts.
struct SessionFacts {
  const core::ConfiguredLimits& limits;
  KeeperSource& keepers;
  const std::string& principal;
  const std::string& owner;  // Of acquires that name none.
};

// Errors: INVALID_FIELD.
absl::Status ToCore(const v1::SessionOperation& from, const SessionFacts& session,
                    core::SessionOperation& to);
absl::Status ToCore(const v1::SessionAdopt& from, const SessionFacts& session,
                    core::ExtendRequest& to);

// Requires: not OK.
void ToProto(const absl::Status& from, v1::OperationError& to);

// All but the operation's id.
void ToProto(const absl::StatusOr<core::SessionAnswer>& from, v1::SessionResult& to);

// All but the heartbeat's number.
v1::SessionHeartbeatResult ToProto(core::HeartbeatAnswer from);

telemetry::Outcome OutcomeOf(const absl::StatusOr<core::SessionAnswer>& answer);

// The lease that an acquire was granted, or an extend extended. Null if there is none.
const core::Lease* LeaseIn(const absl::StatusOr<core::SessionAnswer>& answer);

}  // namespace lockkeeper::rpc
