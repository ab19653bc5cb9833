// SPDX-License-Identifier: Apache-2.0
#include "integration/forget/history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace lockkeeper::forget {
namespace {

void ExpectOneHolderAtATime(std::vector<Held> leases) {
  std::ranges::sort(leases, {}, &Held::answered);
  const Held* last = nullptr;  // That works longest of those so far.
  for (const Held& lease : leases) {
    if (last != nullptr) {
      EXPECT_LE(last->over, lease.answered)
          << lease.lock << ": " << lease.lease_id << " (token " << lease.token
          << ") was granted while " << last->lease_id << " (token " << last->token << ") was live, "
          << std::chrono::duration_cast<std::chrono::milliseconds>(last->over - lease.answered)
          << " too early";
    }
    if (last == nullptr || lease.over > last->over) last = &lease;
  }
}

void ExpectRisingTokens(const std::vector<Held>& leases) {
  std::vector<Held> by_begin = leases;
  std::vector<Held> by_end = leases;
  std::ranges::sort(by_begin, {}, &Held::asked);
  std::ranges::sort(by_end, {}, &Held::answered);
  int64_t highest = 0;
  size_t ended = 0;
  for (const Held& lease : by_begin) {
    for (; ended < by_end.size() && by_end[ended].answered < lease.asked; ++ended) {
      highest = std::max(highest, by_end[ended].token);
    }
    EXPECT_GT(lease.token, highest) << lease.lock << ": " << lease.lease_id;
  }
  std::ranges::sort(by_begin, {}, &Held::token);
  const auto twin = std::ranges::adjacent_find(by_begin, {}, &Held::token);
  if (twin != by_begin.end()) {
    ADD_FAILURE() << twin->lock << ": token " << twin->token << " was granted twice";
  }
}

}  // namespace

void History::Add(Held held) {
  const std::lock_guard lock(mutex_);
  by_lock_[held.lock].push_back(std::move(held));
}

std::optional<Held> History::FirstAskedAfter(Time begin) const {
  const std::lock_guard lock(mutex_);
  std::optional<Held> first;
  for (const auto& [name, leases] : by_lock_) {
    for (const Held& lease : leases) {
      if (lease.asked > begin && (!first || lease.answered < first->answered)) first = lease;
    }
  }
  return first;
}

void History::ExpectSound() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, leases] : by_lock_) {
    ExpectOneHolderAtATime(leases);
    ExpectRisingTokens(leases);
  }
}

}  // namespace lockkeeper::forget
