// SPDX-License-Identifier: Apache-2.0
#include "support/rpc/lock_requests.h"

#include <random>

#include "core/types.h"

namespace lockkeeper::support {

std::string NewLeaseId() {
  thread_local std::mt19937_64 engine{std::random_device{}()};
  return core::Hex16(engine()) + core::Hex16(engine());
}

v1::AcquireRequest AcquireOf(const std::string& name, const std::string& lease_id,
                             std::chrono::milliseconds ttl) {
  v1::AcquireRequest request;
  request.set_name(name);
  request.set_lease_id(lease_id);
  if (!lease_id.empty()) request.set_attempt(1);
  const int64_t nanos = std::chrono::nanoseconds(ttl).count();
  request.mutable_ttl()->set_seconds(nanos / 1'000'000'000);
  request.mutable_ttl()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  return request;
}

v1::ExtendRequest ExtendOf(const std::string& name, const std::string& lease_id) {
  v1::ExtendRequest request;
  request.set_name(name);
  request.set_lease_id(lease_id);
  return request;
}

v1::ReleaseRequest ReleaseOf(const std::string& name, const std::string& lease_id) {
  v1::ReleaseRequest request;
  request.set_name(name);
  request.set_lease_id(lease_id);
  return request;
}

v1::FenceRequest FenceOf(const std::string& name, int64_t token) {
  v1::FenceRequest request;
  request.set_name(name);
  request.set_fencing_token(token);
  return request;
}

}  // namespace lockkeeper::support
