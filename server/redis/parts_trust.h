// SPDX-License-Identifier: Apache-2.0
//
// What the guards of all parts of a store say, told as if there were one guard. Parts that are lost
// together, since one server had them, are told once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "redis/guard/guard_observer.h"

namespace lockkeeper::redis {

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class PartsTrust {
 public:
  PartsTrust(size_t parts, GuardObserver& told, const core::Clock& clock);
  ~PartsTrust();
  PartsTrust(const PartsTrust&) = delete;
  PartsTrust& operator=(const PartsTrust&) = delete;

  // What the guard of this part tells.
  GuardObserver& part(size_t number);

  // Of this part, as it is now.
  StoreTrust Of(size_t number) const;

  // Of all. Its epoch is the sum of theirs, so that it rises whenever one of them does; its
  // quarantine is the one that ends last; its ids are those of the first part.
  StoreTrust Together() const;

 private:
  class Part;

  void OnFirstUse();
  void OnLoss(LossKind kind, const StoreTrust& before);
  void OnNewEpoch(const StoreTrust& before);

  GuardObserver& told_;
  const core::Clock& clock_;
  std::vector<std::unique_ptr<Part>> parts_;
  bool first_use_told_ = false;
  std::optional<LossKind> loss_told_;  // Of the quarantine that runs.
};

}  // namespace lockkeeper::redis
