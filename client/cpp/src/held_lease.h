// SPDX-License-Identifier: Apache-2.0
//
// The inside of a Lease.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "client_core.h"
#include "lockkeeper/lease.h"
#include "renewal/kept_lease.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe, except destroying.
class HeldLease {
 public:
  HeldLease(std::shared_ptr<ClientCore> core, Grant grant, std::shared_ptr<KeptLease> kept);

  const Grant& grant() const { return grant_; }
  KeptLease& kept() const { return *kept_; }

  // As Lease::Release.
  absl::StatusOr<ReleaseOutcome> Release();

  // As Lease::Detach.
  void Detach();

 private:
  // Does not wait for callbacks.
  absl::StatusOr<ReleaseOutcome> ReleaseOnce();

  const std::shared_ptr<ClientCore> core_;
  const Grant grant_;
  const std::shared_ptr<KeptLease> kept_;
  std::mutex mutex_;
  std::optional<absl::StatusOr<ReleaseOutcome>> outcome_;  // Guarded by mutex_.
};

}  // namespace lockkeeper::client
