// SPDX-License-Identifier: Apache-2.0
#include "lockkeeper/lease.h"

#include <utility>

#include "held_lease.h"

namespace lockkeeper {

Lease::Lease(std::unique_ptr<client::HeldLease> held) : held_(std::move(held)) {}
Lease::Lease(Lease&& other) noexcept = default;

Lease& Lease::operator=(Lease&& other) noexcept {
  Lease former(std::exchange(held_, std::move(other.held_)));
  return *this;
}

Lease::~Lease() {
  if (held_ != nullptr) held_->Release().IgnoreError();
}

const Grant& Lease::grant() const { return held_->grant(); }

std::string Lease::reassertion() const { return held_->kept().reassertion(); }

std::chrono::nanoseconds Lease::remaining() const { return held_->kept().remaining(); }

bool Lease::lost() const { return held_->kept().lost(); }

Loss Lease::loss() const { return held_->kept().loss(); }

void Lease::OnLost(absl::AnyInvocable<void() &&> callback) {
  held_->kept().OnLost(std::move(callback));
}

void Lease::OnExtended(absl::AnyInvocable<void()> callback) {
  held_->kept().OnExtended(std::move(callback));
}

std::stop_token Lease::stop_token() const { return held_->kept().stop_token(); }

absl::StatusOr<ReleaseOutcome> Lease::Release() { return held_->Release(); }

std::string Lease::Detach() && {
  const std::unique_ptr<client::HeldLease> held = std::move(held_);
  held->Detach();
  return held->grant().lease_id;
}

}  // namespace lockkeeper
