// SPDX-License-Identifier: Apache-2.0
#include "rpc/convert_admin.h"

#include "core/errors.h"
#include "core/limits.h"
#include "core/validation.h"
#include "rpc/convert_duration.h"

namespace lockkeeper::rpc {
namespace {

void FillLock(const core::LockInfo& from, admin::v1::Lock& to) {
  to.set_name(from.name);
  to.set_state(static_cast<admin::v1::LockState>(from.state));
  to.set_fencing_token(from.token.value);
  to.set_owner(from.owner);
  to.set_principal(from.principal);
  to.mutable_labels()->insert(from.labels.begin(), from.labels.end());
  ToProto(from.ttl, *to.mutable_ttl());
  ToProto(from.lock_delay, *to.mutable_lock_delay());
  ToProto(from.max_hold, *to.mutable_max_hold());
  ToProto(from.remaining_ttl, *to.mutable_remaining_ttl());
  ToProto(from.closed_for, *to.mutable_closed_for());
  if (from.acquired.micros > 0) ToProto(from.acquired, *to.mutable_acquire_time());
  if (from.lease_end.micros > 0) ToProto(from.lease_end, *to.mutable_expire_time());
  to.set_waiters(from.waiters);
  to.set_last_end(static_cast<admin::v1::LeaseEnd>(from.last_end));
}

}  // namespace

absl::Status ToCore(const admin::v1::GetLockRequest& from, GetLockRequest& to) {
  to.name = from.name();
  return core::ValidateName("name", to.name);
}

absl::Status ToCore(const admin::v1::ListLocksRequest& from, core::ListRequest& to) {
  to.prefix = from.prefix();
  to.page_size = from.page_size() == 0 ? core::limits::kPageSizeDefault : from.page_size();
  to.page_token = from.page_token();
  to.ended = from.include_ended() ? core::EndedLocks::kInclude : core::EndedLocks::kLeaveOut;
  return core::Validate(to);
}

absl::Status ToCore(const admin::v1::ForceReleaseRequest& from, AuditedForceRelease& to) {
  to.request.name = from.name();
  to.request.delay =
      from.now() ? core::ReleaseDelay::kNone : core::ReleaseDelay::kHoldersRemainingTtl;
  to.reason = from.reason();
  to.owner = from.owner();
  if (auto status = core::ValidateName("name", to.request.name); !status.ok()) return status;
  if (to.reason.empty()) {
    return core::InvalidField(
        "reason", "has to be 1 to " + std::to_string(core::limits::kReasonBytesMax) + " bytes");
  }
  if (auto status = core::ValidateText("owner", to.owner, core::limits::kOwnerBytesMax);
      !status.ok()) {
    return status;
  }
  return core::ValidateText("reason", to.reason, core::limits::kReasonBytesMax);
}

void ToProto(const std::optional<core::LockInfo>& from, admin::v1::GetLockResponse& to) {
  if (from) FillLock(*from, *to.mutable_lock());
}

void ToProto(const core::LockPage& from, admin::v1::ListLocksResponse& to) {
  to.mutable_locks()->Reserve(static_cast<int>(from.locks.size()));
  for (const core::LockInfo& lock : from.locks) FillLock(lock, *to.add_locks());
  to.set_next_page_token(from.next_page_token);
  to.set_unreadable(from.unreadable);
}

void ToProto(const core::ForceReleaseAnswer& from, admin::v1::ForceReleaseResponse& to) {
  to.set_released(from.released);
  to.set_opened(from.opened);
  to.set_fencing_token(from.token.value);
  ToProto(from.closed_for, *to.mutable_closed_for());
  to.set_holder_owner(from.holder_owner);
}

}  // namespace lockkeeper::rpc
