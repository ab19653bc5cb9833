// SPDX-License-Identifier: Apache-2.0
#include "access/usage.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace lockkeeper::access {

Usage::Hold& Usage::Hold::operator=(Hold&& other) noexcept {
  if (this == &other) return *this;
  GiveBack();
  usage_ = std::move(other.usage_);
  kind_ = other.kind_;
  return *this;
}

void Usage::Hold::GiveBack() {
  const std::shared_ptr<Usage> usage = std::move(usage_);
  usage_ = nullptr;
  if (usage == nullptr) return;
  const std::lock_guard lock(usage->mutex_);
  --usage->CountOf(kind_);
}

std::optional<core::Millis> Usage::TakeOperation(int64_t per_second, Urgency urgency,
                                                 core::Instant now) {
  const std::lock_guard lock(mutex_);
  const auto rate = static_cast<double>(per_second);
  if (!filled_) operations_ = rate;
  const double seconds = filled_ ? std::chrono::duration<double>(now - *filled_).count() : 0;
  if (seconds > 0 || !filled_) filled_ = now;
  operations_ = std::min(rate, operations_ + std::max(seconds, 0.0) * rate);
  const double reserve = urgency == Urgency::kKeepsLease ? -rate : 0;
  if (operations_ - 1 >= reserve) {
    operations_ -= 1;
    return std::nullopt;
  }
  if (per_second == 0) return core::Millis(1'000);
  const double missing = reserve + 1 - operations_;
  return core::Millis(static_cast<int64_t>(std::ceil(missing / rate * 1'000)));
}

Usage::Hold Usage::Take(const std::shared_ptr<Usage>& usage, Kind kind, int64_t most) {
  const std::lock_guard lock(usage->mutex_);
  int64_t& count = usage->CountOf(kind);
  if (count >= most) return {};
  ++count;
  return {usage, kind};
}

Usage::Hold Usage::TakeLease(const std::shared_ptr<Usage>& usage, const std::string& name,
                             const core::LeaseId& lease_id, int64_t most, core::Instant now) {
  const std::lock_guard lock(usage->mutex_);
  usage->Forget(now);
  int64_t& asked_for = usage->CountOf(Kind::kAcquire);
  const Lease* const known = usage->Find(name, lease_id);
  const bool is_repeat = known != nullptr && !known->has_ended;
  if (usage->live_ + asked_for >= most && !is_repeat) return {};
  ++asked_for;
  return {usage, Kind::kAcquire};
}

bool Usage::Kept(const std::string& name, const core::LeaseId& lease_id, core::Instant end) {
  if (!counts_leases_.load(std::memory_order_relaxed)) return false;
  const std::lock_guard lock(mutex_);
  const auto [lease, is_new] = FindOrAdd(name, lease_id, end);
  if (lease->keepers++ == 0 && !is_new) by_end_.Remove(*lease);
  return true;
}

void Usage::Left(const std::string& name, const core::LeaseId& lease_id, core::Instant end,
                 core::Instant now) {
  const std::lock_guard lock(mutex_);
  Forget(now);  // The quota may be gone, and nothing else asks.
  Lease& lease = *Find(name, lease_id);
  lease.end = std::max(lease.end, end);
  if (--lease.keepers > 0) return;
  if (lease.has_ended) return Erase(lease);
  by_end_.Add(lease);
}

void Usage::Granted(const std::string& name, const core::LeaseId& lease_id, core::Instant end,
                    core::Instant now) {
  if (!counts_leases_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  Forget(now);  // As in Left().
  const auto [lease, is_new] = FindOrAdd(name, lease_id, end);
  if (is_new) by_end_.Add(*lease);
}

void Usage::Extended(const std::string& name, const core::LeaseId& lease_id, core::Instant end) {
  if (!counts_leases_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  if (Lease* const lease = Find(name, lease_id)) Prolong(*lease, end);
}

void Usage::Ended(const std::string& name, const core::LeaseId& lease_id) {
  if (!counts_leases_.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex_);
  Lease* const lease = Find(name, lease_id);
  if (lease == nullptr) return;
  if (lease->keepers == 0) return Forget(*lease);
  if (!std::exchange(lease->has_ended, true)) --live_;
}

std::pair<Usage::Lease*, bool> Usage::FindOrAdd(const std::string& name,
                                                const core::LeaseId& lease_id, core::Instant end) {
  const auto [found, is_new] = leases_.try_emplace(Key(name, lease_id));
  Lease& lease = found->second;
  if (is_new) {
    lease.key = &found->first;
    lease.end = end;
    ++live_;
  } else {
    Prolong(lease, end);
  }
  return {&lease, is_new};
}

Usage::Lease* Usage::Find(const std::string& name, const core::LeaseId& lease_id) {
  const auto found = leases_.find(Key(name, lease_id));
  return found == leases_.end() ? nullptr : &found->second;
}

void Usage::Prolong(Lease& lease, core::Instant end) {
  if (std::exchange(lease.has_ended, false)) ++live_;
  if (end <= lease.end) return;
  if (lease.keepers == 0) by_end_.Remove(lease);
  lease.end = end;
  if (lease.keepers == 0) by_end_.Add(lease);
}

void Usage::Forget(core::Instant now) {
  while (!by_end_.empty() && by_end_.First().end <= now) Forget(by_end_.First());
}

void Usage::Forget(Lease& lease) {
  by_end_.Remove(lease);
  --live_;
  Erase(lease);
}

void Usage::Erase(Lease& lease) { leases_.erase(leases_.find(*lease.key)); }

bool Usage::IsIdle(core::Instant now) {
  const std::lock_guard lock(mutex_);
  Forget(now);
  return leases_.empty() &&
         std::all_of(counts_.begin(), counts_.end(), [](int64_t count) { return count == 0; });
}

std::shared_ptr<Usage> UsageBook::Of(const std::string& principal, core::Instant now) {
  const std::lock_guard lock(mutex_);
  if (by_principal_.size() >= clean_at_) {
    absl::erase_if(by_principal_, [&](const auto& entry) {
      return entry.second.use_count() == 1 && entry.second->IsIdle(now);
    });
    clean_at_ = std::max<size_t>(1'024, 2 * by_principal_.size());
  }
  std::shared_ptr<Usage>& usage = by_principal_[principal];
  if (usage == nullptr) usage = std::make_shared<Usage>();
  return usage;
}

}  // namespace lockkeeper::access
