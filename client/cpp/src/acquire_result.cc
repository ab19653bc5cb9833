// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/acquire_result.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace lockkeeper {

AcquireResult::AcquireResult(Lease lease) : lease_(std::move(lease)) {}

AcquireResult::AcquireResult(Contention contention, absl::Status status)
    : contention_(std::move(contention)), status_(std::move(status)) {}

AcquireResult::AcquireResult(absl::Status error) : status_(std::move(error)) {}

Lease& AcquireResult::operator*() {
  if (!lease_) {
    // To go on would be work without the lock.
    std::fprintf(stderr, "lockkeeper: an AcquireResult without a lease was used as one: %s\n",
                 status_.ToString().c_str());
    std::abort();
  }
  return *lease_;
}

Lease AcquireResult::TakeLease() && { return std::move(**this); }

}  // namespace lockkeeper
