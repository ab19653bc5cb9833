// SPDX-License-Identifier: Apache-2.0
//
// Converts answers of the domain to messages and to outcomes for telemetry. The other direction,
// from messages to requests, is in operation.h.
//
// Thread-safety: thread-safe.
#pragma once

#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/lock_event.h"
#include "core/requests.h"
#include "core/session.h"
#include "core/wall_time.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"
#include "lockkeeper/v1/lock_service.pb.h"
#include "telemetry/contended_locks.h"
#include "telemetry/outcome.h"

namespace lockkeeper::rpc {

void ToProto(const core::Lease& from, v1::Lease& to);
void ToProto(const core::AcquireAnswer& from, v1::AcquireResponse& to);
void ToProto(const core::Lease& from, v1::ExtendResponse& to);
void ToProto(const core::ReleaseAnswer& from, v1::ReleaseResponse& to);
void ToProto(const core::FenceAnswer& from, v1::FenceResponse& to);
v1::Assurance ToProto(core::Assurance from);

void ToProto(const std::optional<core::LockInfo>& from, admin::v1::GetLockResponse& to);
void ToProto(const core::LockPage& from, admin::v1::ListLocksResponse& to);
void ToProto(const telemetry::ContendedLockList& from, admin::v1::ListContendedLocksResponse& to);
void ToProto(const core::ForceReleaseAnswer& from, admin::v1::ForceReleaseResponse& to);
void ToProto(const core::EndQuarantineAnswer& from, admin::v1::EndQuarantineResponse& to);

// `heard`: when this daemon heard of it.
void ToProto(const core::LockEvent& from, core::WallTime heard, admin::v1::LockEvent& to);

// Requires: not OK.
void ToProto(const absl::Status& from, v1::OperationError& to);

// All but the operation's id.
void ToProto(const absl::StatusOr<core::SessionAnswer>& from, v1::SessionResult& to);

// All but the heartbeat's number.
v1::SessionHeartbeatResult ToProto(core::HeartbeatAnswer from);

telemetry::Outcome OutcomeOf(const core::AcquireAnswer& answer);
telemetry::Outcome OutcomeOf(const core::Lease& answer);  // Of an extend.
telemetry::Outcome OutcomeOf(const core::ReleaseAnswer& answer);
telemetry::Outcome OutcomeOf(const core::FenceAnswer& answer);
telemetry::Outcome OutcomeOf(const std::optional<core::LockInfo>& answer);
telemetry::Outcome OutcomeOf(const core::LockPage& answer);
telemetry::Outcome OutcomeOf(const telemetry::ContendedLockList& answer);
telemetry::Outcome OutcomeOf(const core::ForceReleaseAnswer& answer);
telemetry::Outcome OutcomeOf(const core::EndQuarantineAnswer& answer);
telemetry::Outcome OutcomeOf(const absl::Status& error);
telemetry::Outcome OutcomeOf(const absl::StatusOr<core::SessionAnswer>& answer);

// The lease that was granted or extended. Null if there is none.
const core::Lease* LeaseIn(const core::AcquireAnswer& answer);
inline const core::Lease* LeaseIn(const core::Lease& answer) { return &answer; }
const core::Lease* LeaseIn(const absl::StatusOr<core::SessionAnswer>& answer);

}  // namespace lockkeeper::rpc
