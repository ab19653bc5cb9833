// SPDX-License-Identifier: Apache-2.0
//
// Messages of lockkeeper.v1 to requests of the domain, and its answers back. Only what a message
// can get wrong by its form is refused here, and the limits by core/validation; what a request gets
// from its call (principal, keeper, deadline) is the caller's to fill in.
//
// Errors, of every ToCore: INVALID_FIELD. Thread-safety: thread-safe.
#pragma once

#include "absl/status/status.h"
#include "core/requests.h"
#include "core/validation.h"
#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::rpc {

// Makes a lease id if the request has none, and a ttl of 30 s or `limits.max_ttl` if it has none.
absl::Status ToCore(const v1::AcquireRequest& from, const core::ConfiguredLimits& limits,
                    core::AcquireRequest& to);
absl::Status ToCore(const v1::ExtendRequest& from, const core::ConfiguredLimits& limits,
                    core::ExtendRequest& to);
absl::Status ToCore(const v1::ReleaseRequest& from, core::ReleaseRequest& to);
absl::Status ToCore(const v1::FenceRequest& from, core::FenceRequest& to);

void ToProto(const core::Lease& from, v1::Lease& to);
void ToProto(const core::AcquireAnswer& from, v1::AcquireResponse& to);
void ToProto(const core::Lease& from, v1::ExtendResponse& to);
void ToProto(const core::ReleaseAnswer& from, v1::ReleaseResponse& to);
void ToProto(const core::FenceAnswer& from, v1::FenceResponse& to);
v1::Assurance ToProto(core::Assurance from);

}  // namespace lockkeeper::rpc
