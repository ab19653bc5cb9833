// SPDX-License-Identifier: Apache-2.0
//
// A store that answers when the test says so, and an observer that remembers: what the domain is
// tested between.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "core/lock_observer.h"
#include "core/lock_store.h"
#include "core/waiting_line.h"
#include "support/without_place.h"

namespace lockkeeper::core {

// Requests of one kind that wait for their answers, the oldest first.
template <typename Request, typename T>
class PendingCalls {
 public:
  void Add(const Request& request, Done<T> done) { calls_.emplace_back(request, std::move(done)); }

  size_t size() const { return calls_.size(); }

  // The oldest one; a failure of the test if there is none.
  Request front() const {
    EXPECT_FALSE(calls_.empty()) << "the store was not asked";
    return calls_.empty() ? Request() : calls_.front().first;
  }

  // Answers the oldest one.
  void Answer(absl::StatusOr<T> answer) {
    ASSERT_FALSE(calls_.empty()) << "the store was not asked";
    Done<T> done = std::move(calls_.front().second);
    calls_.pop_front();
    std::move(done)(std::move(answer));
  }

 private:
  std::deque<std::pair<Request, Done<T>>> calls_;
};

// See LockStore::Confirm.
struct ConfirmRequest {
  std::string name;
  Assurance wanted = Assurance::kNone;
  Instant deadline;
};

// Thread-safety: not thread-safe.
class PendingStore final : public LockStore, public WaitingLine {
 public:
  PendingCalls<AcquireRequest, AcquireOutcome> acquires;  // Also those that may wait.
  std::vector<int64_t> old_numbers;                       // Of those that stood in a lost line.
  PendingCalls<ExtendRequest, Lease> extends;
  PendingCalls<ReleaseRequest, ReleaseAnswer> releases;
  PendingCalls<ConfirmRequest, Assurance> confirmations;
  PendingCalls<WithdrawRequest, WithdrawResult> withdrawals;
  PendingCalls<FenceRequest, FenceAnswer> fences;
  PendingCalls<PollRequest, PollAnswer> polls;
  std::vector<std::string> left;  // Lines.
  LineListener* listener = nullptr;

  void Acquire(const AcquireRequest& request, Done<AcquireAnswer> done) override {
    acquires.Add(request, support::WithoutPlace(std::move(done)));
  }
  void Extend(const ExtendRequest& request, Done<Lease> done) override {
    extends.Add(request, std::move(done));
  }
  void Release(const ReleaseRequest& request, Done<ReleaseAnswer> done) override {
    releases.Add(request, std::move(done));
  }
  void Confirm(const std::string& name, Assurance wanted, Instant deadline,
               ConfirmDone done) override {
    confirmations.Add({name, wanted, deadline},
                      [done = std::move(done)](absl::StatusOr<Assurance> confirmed) mutable {
                        std::move(done)(*confirmed);
                      });
  }
  void Withdraw(const WithdrawRequest& request, Done<WithdrawResult> done) override {
    withdrawals.Add(request, std::move(done));
  }
  void Fence(const FenceRequest& request, Done<FenceAnswer> done) override {
    fences.Add(request, std::move(done));
  }
  void Poll(const PollRequest& request, Done<PollAnswer> done) override {
    polls.Add(request, std::move(done));
  }
  void Stand(const AcquireRequest& request, int64_t old_number,
             Done<AcquireOutcome> done) override {
    if (old_number > 0) old_numbers.push_back(old_number);
    acquires.Add(request, std::move(done));
  }
  void Leave(const std::string& name, Instant) override { left.push_back(name); }
  void Listen(LineListener& to) override { listener = &to; }
};

class RecordingObserver final : public LockObserver {
 public:
  std::vector<std::pair<std::string, WithdrawalEnd>> withdrawals;
  std::vector<std::pair<std::string, FencingToken>> expired;
  size_t waits_begun = 0;
  std::vector<int32_t> positions;
  std::vector<std::pair<WaitEnd, Micros>> waits_ended;
  std::vector<std::string> names_waited_for;
  std::vector<Micros> held_for;

  void OnWithdrawalEnded(std::string_view lock_name, WithdrawalEnd end) override {
    withdrawals.emplace_back(lock_name, end);
  }
  void OnWaitBegan(const AcquireRequest&, int32_t position) override {
    ++waits_begun;
    positions.push_back(position);
  }
  void OnWaitEnded(std::string_view lock_name, const Keeper&, WaitEnd end, Micros waited) override {
    waits_ended.emplace_back(end, waited);
    names_waited_for.emplace_back(lock_name);
  }
  void OnReleased(Micros held) override { held_for.push_back(held); }
  void OnExpiredLeaseReplaced(std::string_view lock_name, FencingToken token) override {
    expired.emplace_back(lock_name, token);
  }
};

// An answer that may come once.
template <typename T>
class Caught {
 public:
  Done<T> Into() {
    return [this](absl::StatusOr<T> answer) {
      EXPECT_FALSE(answer_) << "answered twice";
      answer_ = std::move(answer);
    };
  }

  bool came() const { return answer_.has_value(); }
  const absl::StatusOr<T>& value() const { return *answer_; }

 private:
  std::optional<absl::StatusOr<T>> answer_;
};

}  // namespace lockkeeper::core
