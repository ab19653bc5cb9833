// SPDX-License-Identifier: Apache-2.0
//
// A store of several parts, each of which can be lost alone: each is a RedisStore of its own, with
// its keys, its marker and its guard. A lock belongs to the part that the hash of its name says.
// docs/adr/0028 says why.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/lock_store.h"
#include "core/waiting_line.h"
#include "redis/parts_trust.h"
#include "redis/redis_store.h"

namespace lockkeeper::redis {

// Where a part is.
struct StorePart {
  Node* node;
  std::string
      key_prefix;  // Of its keys and channels, such as "lk:{17}"; no other part's begins so.
};

// Thread-safety: loop-thread only. Lifetime: borrows its collaborators.
class PartedStore final : public Store,
                          private core::LockStore,
                          private core::WaitingLine,
                          private core::AdminStore {
 public:
  // `options` are those of each part, but for its keys. Requires: at least one part. How many there
  // are, and in which order, is the same for all daemons of a service, for ever. `make_guard`: for
  // tests of everything else; null: each part has a NodeGuard.
  PartedStore(const std::vector<StorePart>& parts, const core::Clock& clock,
              core::Executor& executor, GuardObserver& observer, const RedisStoreOptions& options,
              const std::function<std::unique_ptr<StoreGuard>()>& make_guard = nullptr);

  core::LockStore& locks() override { return *this; }
  core::WaitingLine& line() override { return *this; }
  core::AdminStore& admin() override { return *this; }
  // Any part's: all daemons have a channel for each.
  core::WatchExchange& exchange() override { return parts_.front()->exchange(); }
  void CoverLeases(core::Millis longest_lease) override;
  void SetWaitersPerLockMax(int32_t most) override;
  void Close() override;

 private:
  struct Listing;
  struct Ending;

  size_t PartOf(std::string_view name) const;
  RedisStore& StoreOf(std::string_view name) { return *parts_[PartOf(name)]; }

  void Acquire(const core::AcquireRequest& request, core::Done<core::AcquireAnswer> done) override;
  void Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) override;
  void Release(const core::ReleaseRequest& request, core::Done<core::ReleaseAnswer> done) override;
  void Confirm(const std::string& name, core::Assurance wanted, core::Instant deadline,
               core::ConfirmDone done) override;
  void Withdraw(const core::WithdrawRequest& request,
                core::Done<core::WithdrawResult> done) override;
  void Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) override;

  void Stand(const core::AcquireRequest& request, int64_t old_number,
             core::Done<core::AcquireOutcome> done) override;
  void Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) override;
  void Leave(const std::string& name, core::Instant deadline) override;
  void Listen(core::LineListener& listener) override;

  void Get(const std::string& name, core::Instant deadline,
           core::Done<std::optional<core::LockInfo>> done) override;
  void List(const core::ListRequest& request, core::Done<core::LockPage> done) override;
  void ForceRelease(const core::ForceReleaseRequest& request,
                    core::Done<core::ForceReleaseAnswer> done) override;
  void EndQuarantine(const core::EndQuarantineRequest& request,
                     core::Done<core::EndQuarantineAnswer> done) override;
  void ListNext(std::shared_ptr<Listing> listing);

  core::Executor& executor_;
  PartsTrust trust_;
  std::vector<std::unique_ptr<RedisStore>> parts_;
};

}  // namespace lockkeeper::redis
