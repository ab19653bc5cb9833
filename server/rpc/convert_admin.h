// SPDX-License-Identifier: Apache-2.0
//
// Messages of lockkeeper.admin.v1 to requests of the domain, and its answers back; like convert.h.
//
// Errors, of every ToCore: INVALID_FIELD. Thread-safety: thread-safe.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "core/requests.h"
#include "lockkeeper/admin/v1/admin_service.pb.h"

namespace lockkeeper::rpc {

// The domain has no request for one lock beyond its name.
struct GetLockRequest {
  std::string name;
  core::Instant deadline;
};

// What an administrator asks to break, with the reason that goes into the audit record only.
struct AuditedForceRelease {
  core::ForceReleaseRequest request;
  std::string reason;
  std::string owner;  // Of the administrator.
};

absl::Status ToCore(const admin::v1::GetLockRequest& from, GetLockRequest& to);
absl::Status ToCore(const admin::v1::ListLocksRequest& from, core::ListRequest& to);
absl::Status ToCore(const admin::v1::ForceReleaseRequest& from, AuditedForceRelease& to);

void ToProto(const std::optional<core::LockInfo>& from, admin::v1::GetLockResponse& to);
void ToProto(const core::LockPage& from, admin::v1::ListLocksResponse& to);
void ToProto(const core::ForceReleaseAnswer& from, admin::v1::ForceReleaseResponse& to);

}  // namespace lockkeeper::rpc
