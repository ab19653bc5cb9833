// SPDX-License-Identifier: Apache-2.0
//
// An observer that ignores everything.
#pragma once

#include "redis/guard/guard_observer.h"

namespace lockkeeper::support {

class SilentGuardObserver final : public redis::GuardObserver {
 public:
  void OnFirstUse(const redis::StoreTrust&) override {}
  void OnLoss(redis::LossKind, const redis::StoreTrust&) override {}
  void OnNewEpoch(const redis::StoreTrust&) override {}
  void OnTrustChanged(const redis::StoreTrust&) override {}
};

}  // namespace lockkeeper::support
