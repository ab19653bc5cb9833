// SPDX-License-Identifier: Apache-2.0
#include "integration/forget/clients.h"

#include <algorithm>
#include <utility>

#include "support/rpc/lock_requests.h"

namespace lockkeeper::forget {
namespace {

using std::chrono::milliseconds;
using support::AcquireOf;
using support::NewLeaseId;
using support::ReleaseOf;

// Between two extends of a keeper.
constexpr milliseconds kKeeperPause{50};
// After a refusal: nobody hammers a store that is away.
constexpr milliseconds kRefusalPause{5};

Time Now() { return std::chrono::steady_clock::now(); }

// The longest that the holder of `lease` may work if it asked for it at `asked`.
Time EndOf(const v1::Lease& lease, Time asked) {
  return asked + std::chrono::seconds(lease.remaining_ttl().seconds()) +
         std::chrono::nanoseconds(lease.remaining_ttl().nanos());
}

}  // namespace

void Stop::Set() {
  const std::lock_guard lock(mutex_);
  set_ = true;
  changed_.notify_all();
}

bool Stop::WaitFor(milliseconds limit) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, limit, [this] { return set_; });
}

v1::ExtendRequest ProvedExtendOf(const v1::Lease& lease) {
  v1::ExtendRequest request = support::ExtendOf(lease.name(), lease.lease_id());
  request.set_fencing_token(lease.fencing_token());
  request.set_reassertion(lease.reassertion());
  return request;
}

Passer::Passer(const std::string& daemon, std::vector<std::string> locks, uint64_t seed,
               History& history)
    : caller_(daemon), locks_(std::move(locks)), random_(seed), history_(history), thread_([this] {
        Run();
      }) {}

Passer::~Passer() { End(); }

std::vector<std::string> Passer::End() {
  stop_.Set();
  if (thread_.joinable()) thread_.join();
  return surprises_;
}

void Passer::NoteUnlessExpected(const std::string& reason, const std::string& text) {
  for (const char* expected : {"STORE_QUARANTINED", "STORE_UNAVAILABLE", "OUTCOME_UNKNOWN"}) {
    if (reason == expected) return;
  }
  surprises_.push_back(reason + ": " + text);
}

void Passer::Run() {
  while (!stop_.WaitFor(milliseconds(0))) {
    v1::AcquireRequest request = AcquireOf(random_.Pick(locks_), NewLeaseId(),
                                           milliseconds(random_.OneIn(2) ? 1'000 : 2'000));
    if (random_.OneIn(4)) request.mutable_wait_timeout()->set_nanos(100'000'000);
    const Time asked = Now();
    const auto answer = caller_.Acquire(request);
    const Time answered = Now();
    if (answer.ok()) {
      if (answer.response.has_lease()) Hold(answer.response.lease(), asked, answered);
      continue;
    }
    NoteUnlessExpected(answer.reason, answer.status.error_message());
    if (answer.reason == "OUTCOME_UNKNOWN") {
      caller_.Release(ReleaseOf(request.name(), request.lease_id()));
    }
    stop_.WaitFor(kRefusalPause);
  }
}

void Passer::Hold(const v1::Lease& lease, Time asked, Time answered) {
  ++grants_;
  Held held{lease.name(), lease.lease_id(), lease.fencing_token(),
            asked,        answered,         EndOf(lease, asked)};
  if (random_.OneIn(16)) {
    ++forgotten_;
    return history_.Add(std::move(held));
  }
  for (uint64_t extends = random_.Below(3); extends > 0; --extends) {
    const Time sent = Now();
    const auto extended = caller_.Extend(ProvedExtendOf(lease));
    if (extended.ok()) {
      held.over = std::max(held.over, EndOf(extended.response.lease(), sent));
      if (extended.response.lease().fencing_token() != lease.fencing_token()) {
        surprises_.push_back("an extend changed the token of " + lease.name());
      }
    } else if (extended.reason != "LEASE_LOST" || Now() < held.over) {
      NoteUnlessExpected(extended.reason, extended.status.error_message());
    }
  }
  held.over = std::min(held.over, Now());
  history_.Add(held);
  const auto released = caller_.Release(ReleaseOf(lease.name(), lease.lease_id()));
  if (!released.ok()) NoteUnlessExpected(released.reason, released.status.error_message());
}

Keeper::Keeper(const std::string& daemon, const std::string& lock, milliseconds ttl,
               History& history)
    : caller_(daemon), history_(history) {
  const Time asked = Now();
  const auto answer = caller_.Acquire(AcquireOf(lock, NewLeaseId(), ttl));
  lease_ = answer.response.lease();
  if (!answer.response.has_lease()) lost_ = "never granted: " + answer.status.error_message();
  held_ = {lock, lease_.lease_id(), lease_.fencing_token(), asked, Now(), EndOf(lease_, asked)};
  thread_ = std::thread([this] { Run(); });
}

Keeper::~Keeper() {
  stop_.Set();
  if (thread_.joinable()) thread_.join();
}

void Keeper::Run() {
  while (lost_.empty() && !stop_.WaitFor(kKeeperPause)) {
    const Time sent = Now();
    const auto extended = caller_.Extend(ProvedExtendOf(lease_));
    if (extended.ok()) {
      ++extends_;
      held_.over = EndOf(extended.response.lease(), sent);
      lease_.set_reassertion(extended.response.lease().reassertion());
      if (extended.response.lease().fencing_token() != lease_.fencing_token()) {
        lost_ = "the token has changed";
      }
    } else if (extended.status.error_code() != grpc::StatusCode::UNAVAILABLE) {
      lost_ = extended.reason + ": " + extended.status.error_message();
    }
    if (lost_.empty() && Now() >= held_.over) lost_ = "not extended for a whole ttl";
  }
}

void Keeper::End() {
  stop_.Set();
  thread_.join();
  ASSERT_EQ(lost_, "") << held_.lock;
  held_.over = Now();
  history_.Add(held_);
  const auto released = caller_.Release(ReleaseOf(held_.lock, held_.lease_id));
  EXPECT_TRUE(released.response.released()) << held_.lock << released.status.error_message();
}

}  // namespace lockkeeper::forget
