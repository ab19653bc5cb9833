// SPDX-License-Identifier: Apache-2.0
//
// Requests of LockService with what most tests want in them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "lockkeeper/v1/lock_service.pb.h"

namespace lockkeeper::support {

// A new lease id, different in each call and each process.
std::string NewLeaseId();

// Without a lease id the server makes one.
v1::AcquireRequest AcquireOf(const std::string& name, const std::string& lease_id = "",
                             std::chrono::milliseconds ttl = std::chrono::seconds(30));
v1::ExtendRequest ExtendOf(const std::string& name, const std::string& lease_id);
v1::ReleaseRequest ReleaseOf(const std::string& name, const std::string& lease_id);
v1::FenceRequest FenceOf(const std::string& name, int64_t token);

}  // namespace lockkeeper::support
