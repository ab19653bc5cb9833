// SPDX-License-Identifier: Apache-2.0
#include "redis/parted_store.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/errors.h"
#include "text/number.h"
#include "text/stable_hash.h"

namespace lockkeeper::redis {

// A page in the making. Its token is the number of the part, a colon, and the token of that part.
struct PartedStore::Listing {
  core::ListRequest request;  // Of the part that is being listed, for what still fits.
  core::Done<core::LockPage> done;
  size_t part = 0;
  core::LockPage page;
};

// A quarantine that is being ended in several parts.
struct PartedStore::Ending {
  core::Done<core::EndQuarantineAnswer> done;
  core::EndQuarantineAnswer answer;
  absl::Status error;
  size_t open = 0;
};

PartedStore::PartedStore(const std::vector<StorePart>& parts, const core::Clock& clock,
                         core::Executor& executor, GuardObserver& observer,
                         const RedisStoreOptions& options,
                         const std::function<std::unique_ptr<StoreGuard>()>& make_guard)
    : executor_(executor), trust_(parts.size(), observer, clock) {
  for (const StorePart& part : parts) {
    RedisStoreOptions of_part = options;
    of_part.keys = KeyLayout(part.key_prefix);
    GuardObserver& told = trust_.part(parts_.size());
    parts_.push_back(
        make_guard
            ? std::make_unique<RedisStore>(*part.node, clock, executor, told, of_part, make_guard())
            : std::make_unique<RedisStore>(*part.node, clock, executor, told, of_part));
  }
}

void PartedStore::CoverLeases(core::Millis longest_lease) {
  for (const auto& part : parts_) part->CoverLeases(longest_lease);
}

void PartedStore::SetWaitersPerLockMax(int32_t most) {
  for (const auto& part : parts_) part->SetWaitersPerLockMax(most);
}

void PartedStore::Close() {
  for (const auto& part : parts_) part->Close();
}

size_t PartedStore::PartOf(std::string_view name) const {
  return text::StableHash(name) % parts_.size();
}

void PartedStore::Acquire(const core::AcquireRequest& request,
                          core::Done<core::AcquireAnswer> done) {
  StoreOf(request.name).locks().Acquire(request, std::move(done));
}

void PartedStore::Extend(const core::ExtendRequest& request, core::Done<core::Lease> done) {
  StoreOf(request.name).locks().Extend(request, std::move(done));
}

void PartedStore::Release(const core::ReleaseRequest& request,
                          core::Done<core::ReleaseAnswer> done) {
  StoreOf(request.name).locks().Release(request, std::move(done));
}

void PartedStore::Confirm(const std::string& name, core::Assurance wanted, core::Instant deadline,
                          core::ConfirmDone done) {
  StoreOf(name).locks().Confirm(name, wanted, deadline, std::move(done));
}

void PartedStore::Withdraw(const core::WithdrawRequest& request,
                           core::Done<core::WithdrawResult> done) {
  StoreOf(request.name).locks().Withdraw(request, std::move(done));
}

void PartedStore::Fence(const core::FenceRequest& request, core::Done<core::FenceAnswer> done) {
  StoreOf(request.name).locks().Fence(request, std::move(done));
}

void PartedStore::Stand(const core::AcquireRequest& request, int64_t old_number,
                        core::Done<core::AcquireOutcome> done) {
  StoreOf(request.name).line().Stand(request, old_number, std::move(done));
}

void PartedStore::Poll(const core::PollRequest& request, core::Done<core::PollAnswer> done) {
  StoreOf(request.name).line().Poll(request, std::move(done));
}

void PartedStore::Leave(const std::string& name, core::Instant deadline) {
  StoreOf(name).line().Leave(name, deadline);
}

void PartedStore::Listen(core::LineListener& listener) {
  for (const auto& part : parts_) part->line().Listen(listener);
}

void PartedStore::Get(const std::string& name, core::Instant deadline,
                      core::Done<std::optional<core::LockInfo>> done) {
  StoreOf(name).admin().Get(name, deadline, std::move(done));
}

void PartedStore::ForceRelease(const core::ForceReleaseRequest& request,
                               core::Done<core::ForceReleaseAnswer> done) {
  StoreOf(request.name).admin().ForceRelease(request, std::move(done));
}

void PartedStore::List(const core::ListRequest& request, core::Done<core::LockPage> done) {
  auto listing = std::make_shared<Listing>();
  listing->request = request;
  listing->done = std::move(done);
  if (!request.page_token.empty()) {
    const size_t colon = request.page_token.find(':');
    const auto part = text::ParseNumber(request.page_token.substr(0, colon),
                                        static_cast<int64_t>(parts_.size()) - 1);
    if (!part || colon == std::string::npos) {
      return executor_.Post([listing] {
        std::move(listing->done)(core::InvalidField("page_token", "was not made by ListLocks"));
      });
    }
    listing->part = static_cast<size_t>(*part);
    listing->request.page_token.erase(0, colon + 1);
  }
  ListNext(std::move(listing));
}

// Goes on with the parts until the page is full, or one of them has no more to say for now.
void PartedStore::ListNext(std::shared_ptr<Listing> listing) {
  core::AdminStore& part = parts_[listing->part]->admin();
  const core::ListRequest& request = listing->request;
  part.List(request, [this, listing](absl::StatusOr<core::LockPage> found) mutable {
    if (!found.ok()) return std::move(listing->done)(found.status());
    core::LockPage& page = listing->page;
    page.unreadable += found->unreadable;
    listing->request.page_size -= static_cast<int32_t>(found->locks.size());
    std::move(found->locks.begin(), found->locks.end(), std::back_inserter(page.locks));
    const bool goes_on = !found->next_page_token.empty();
    if (!goes_on) ++listing->part;
    if (listing->part == parts_.size()) return std::move(listing->done)(std::move(page));
    if (goes_on || listing->request.page_size == 0) {
      page.next_page_token = std::to_string(listing->part) + ":" + found->next_page_token;
      return std::move(listing->done)(std::move(page));
    }
    listing->request.page_token.clear();
    ListNext(std::move(listing));
  });
}

// Ends the quarantines of all parts, if nothing was lost since the caller looked.
void PartedStore::EndQuarantine(const core::EndQuarantineRequest& request,
                                core::Done<core::EndQuarantineAnswer> done) {
  const StoreTrust now = trust_.Together();
  auto ending = std::make_shared<Ending>();
  ending->done = std::move(done);
  ending->answer = {.epoch = now.epoch, .left = now.quarantine_left};
  std::vector<size_t> quarantined;
  for (size_t i = 0; i < parts_.size() && request.epoch == now.epoch; ++i) {
    if (trust_.Of(i).quarantine_left > core::Micros(0)) quarantined.push_back(i);
  }
  if (quarantined.empty()) {
    return executor_.Post([ending] { std::move(ending->done)(ending->answer); });
  }
  ending->open = quarantined.size();
  for (const size_t i : quarantined) {
    parts_[i]->admin().EndQuarantine({.epoch = trust_.Of(i).epoch, .deadline = request.deadline},
                                     [ending](absl::StatusOr<core::EndQuarantineAnswer> of_part) {
                                       if (of_part.ok()) {
                                         ending->answer.ended |= of_part->ended;
                                       } else {
                                         ending->error = of_part.status();
                                       }
                                       if (--ending->open > 0) return;
                                       if (!ending->error.ok())
                                         return std::move(ending->done)(ending->error);
                                       std::move(ending->done)(ending->answer);
                                     });
  }
}

}  // namespace lockkeeper::redis
