// SPDX-License-Identifier: Apache-2.0
//
// A guard that trusts its store, and expects no marker: for tests of other parts, and for
// benchmarks of the cost of guarding.
#pragma once

#include <functional>
#include <string>

#include "core/errors.h"
#include "redis/guard/store_guard.h"
#include "redis/guard/token_floor.h"

namespace lockkeeper::support {

class TrustingGuard : public redis::StoreGuard {
 public:
  bool Permits(redis::Route, core::Millis, redis::Granting) override { return !refused_; }
  void SetListener(std::function<void()>) override {}
  redis::CallPermit Permit(redis::Route, core::Millis) const override {
    return {.token_floor = token_floor_.value(),
            .marker_key = "lk:store",
            .latest = {9'999'999'999'999'999}};
  }
  // The store has a marker all the same, so every call would be rejected for ever.
  void OnRefused(redis::Route, core::Instant, redis::RefusedFor) override { refused_ = true; }
  bool OnAnswered(redis::Route, core::Instant, core::NodeTime node) override {
    token_floor_.SawClock(node);
    return true;
  }
  void OnConfirmed(redis::Route, core::Instant, const core::Lease&) override {}
  void OnToken(redis::Route, core::FencingToken token) override { token_floor_.SawToken(token); }
  std::string HeldBackBecause(redis::Route) const override {
    return refused_ ? "the store has a marker" : "";
  }
  absl::Status Refusal(redis::Route) const override {
    return core::Error(core::ErrorReason::kInvariantViolated, "nothing was forgotten");
  }
  void EndQuarantine(int64_t, core::Done<core::EndQuarantineAnswer> done) override {
    std::move(done)(core::EndQuarantineAnswer{.epoch = 1});
  }
  redis::ProofBasis proof_basis(redis::Route) const override { return {}; }

 private:
  redis::TokenFloor token_floor_;
  bool refused_ = false;
};

}  // namespace lockkeeper::support
