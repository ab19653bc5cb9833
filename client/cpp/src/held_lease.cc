// SPDX-License-Identifier: Apache-2.0
#include "held_lease.h"

#include <utility>

namespace lockkeeper::client {

HeldLease::HeldLease(std::shared_ptr<ClientCore> core, Grant grant, std::shared_ptr<KeptLease> kept)
    : core_(std::move(core)), grant_(std::move(grant)), kept_(std::move(kept)) {}

absl::StatusOr<ReleaseOutcome> HeldLease::Release() {
  absl::StatusOr<ReleaseOutcome> outcome = ReleaseOnce();
  // Without the mutex, because the callback that it waits for may release the lease too.
  kept_->WaitForCallbacks();
  return outcome;
}

void HeldLease::Detach() {
  kept_->Drop();
  core_->Forget(kept_->ref());
  kept_->WaitForCallbacks();
}

absl::StatusOr<ReleaseOutcome> HeldLease::ReleaseOnce() {
  const std::lock_guard lock(mutex_);
  if (outcome_) return *outcome_;
  const Duration remaining = kept_->remaining();
  // A lease that the client counts as lost may still be live: an extend without an answer may have
  // moved its end.
  if (kept_->Drop() == KeptLease::State::kLostByWord) {
    outcome_ = ReleaseOutcome::kExpired;
  } else {
    outcome_ = core_->ReleaseHeld(kept_->ref(), remaining);
  }
  return *outcome_;
}

}  // namespace lockkeeper::client
