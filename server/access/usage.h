// SPDX-License-Identifier: Apache-2.0
//
// What each principal uses of this daemon, to be held against its quotas.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/node_hash_map.h"
#include "core/indexed_heap.h"
#include "core/lease_count.h"
#include "core/types.h"

namespace lockkeeper::access {

// Of one principal. Thread-safety: thread-safe.
class Usage final : public core::LeaseCount {
 public:
  // What counts for as long as it lasts.
  enum class Kind { kWaiter, kSession, kAcquire };

  // Gives back what was taken. Lifetime: owns the usage too.
  class Hold {
   public:
    Hold() = default;
    Hold(std::shared_ptr<Usage> usage, Kind kind) : usage_(std::move(usage)), kind_(kind) {}
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    Hold(Hold&& other) noexcept : usage_(std::move(other.usage_)), kind_(other.kind_) {}
    Hold& operator=(Hold&& other) noexcept;
    ~Hold() { GiveBack(); }

    explicit operator bool() const { return usage_ != nullptr; }

   private:
    void GiveBack();

    std::shared_ptr<Usage> usage_;
    Kind kind_{};
  };

  // Operations that keep or end a lease may exceed the rate by another second's worth: a lease that
  // is not extended is lost, and one that is not released is in the way.
  enum class Urgency { kOrdinary, kKeepsLease };

  // Counts an operation. If it comes too soon, it is not counted, and the answer is how long to
  // wait.
  std::optional<core::Millis> TakeOperation(int64_t per_second, Urgency urgency, core::Instant now);

  // Takes one of `most` waiters or sessions. Nothing if all are taken.
  static Hold Take(const std::shared_ptr<Usage>& usage, Kind kind, int64_t most);

  // Takes one of `most` leases for an acquire that is under way. Nothing if all are taken, unless
  // this very lease is held already: acquires may be sent again.
  static Hold TakeLease(const std::shared_ptr<Usage>& usage, const std::string& name,
                        const core::LeaseId& lease_id, int64_t most, core::Instant now);

  // A quota of leases applies: they are counted from now on. Without one, nothing is remembered.
  void CountLeases() { counts_leases_.store(true, std::memory_order_relaxed); }

  bool Kept(const std::string& name, const core::LeaseId& lease_id, core::Instant end) override;
  void Left(const std::string& name, const core::LeaseId& lease_id, core::Instant end,
            core::Instant now) override;
  void Granted(const std::string& name, const core::LeaseId& lease_id, core::Instant end,
               core::Instant now) override;
  void Extended(const std::string& name, const core::LeaseId& lease_id, core::Instant end) override;
  void Ended(const std::string& name, const core::LeaseId& lease_id) override;

  // Whether nothing is in use.
  bool IsIdle(core::Instant now);

 private:
  using Key = std::pair<std::string, core::LeaseId>;
  struct Lease {
    bool IsDueBefore(const Lease& other) const { return end < other.end; }

    const Key* key = nullptr;
    core::Instant end;       // Counts at least until then, unless it has ended.
    int64_t keepers = 0;     // Sessions.
    bool has_ended = false;  // Though a session still keeps it.
    size_t heap_place = 0;
  };
  struct HashOfKey {
    size_t operator()(const Key& key) const { return absl::HashOf(key.first, key.second.digits()); }
  };

  // With the mutex held.
  // The second: it is new, and not in `by_end_` yet.
  std::pair<Lease*, bool> FindOrAdd(const std::string& name, const core::LeaseId& lease_id,
                                    core::Instant end);
  // Null if it is not known.
  Lease* Find(const std::string& name, const core::LeaseId& lease_id);
  void Prolong(Lease& lease, core::Instant end);
  void Forget(core::Instant now);
  void Forget(Lease& lease);  // That no session keeps.
  void Erase(Lease& lease);   // That is not in `by_end_`.
  int64_t& CountOf(Kind kind) { return counts_[static_cast<size_t>(kind)]; }

  std::mutex mutex_;
  std::array<int64_t, 3> counts_{};  // By kind. Guarded by the mutex, as all below.
  double operations_ = 0;            // That may come at `filled_`.
  std::optional<core::Instant> filled_;
  absl::node_hash_map<Key, Lease, HashOfKey> leases_;
  int64_t live_ = 0;                 // Of them, those that have not ended.
  core::IndexedHeap<Lease> by_end_;  // Those that no session keeps.
  std::atomic<bool> counts_leases_ = false;
};

// Of all principals. Thread-safety: thread-safe.
class UsageBook {
 public:
  // The same object for the same principal while anything is in use.
  std::shared_ptr<Usage> Of(const std::string& principal, core::Instant now);

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return by_principal_.size();
  }

 private:
  mutable std::mutex mutex_;
  absl::flat_hash_map<std::string, std::shared_ptr<Usage>> by_principal_;
  size_t clean_at_ = 1'024;
};

}  // namespace lockkeeper::access
