// SPDX-License-Identifier: Apache-2.0
//
// What clients ask, as the micro-benchmarks have it.
#pragma once

#include <cstdint>
#include <string>

#include "core/requests.h"

namespace lockkeeper::bench {

inline std::string NameOfLock(size_t number) {
  return "bench/lock/" + std::to_string(1'000'000'000 + number);
}

inline core::LeaseId LeaseIdOf(size_t number) { return core::LeaseId::FromBits(1, number); }

inline core::AcquireRequest AcquireOf(size_t number) {
  core::AcquireRequest request;
  request.name = NameOfLock(number);
  request.lease_id = LeaseIdOf(number);
  request.ttl = core::Millis(30'000);
  request.owner = "bench";
  request.keeper = core::Keeper(1, number);
  request.deadline = core::Instant::max();
  return request;
}

inline core::ReleaseRequest ReleaseOf(size_t number) {
  core::ReleaseRequest request;
  request.name = NameOfLock(number);
  request.lease_id = LeaseIdOf(number);
  request.deadline = core::Instant::max();
  return request;
}

}  // namespace lockkeeper::bench
