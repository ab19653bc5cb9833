// SPDX-License-Identifier: Apache-2.0
//
// LeaseCalls that the test answers, whenever it wants to.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "renewal/backoff.h"
#include "renewal/lease_calls.h"

namespace lockkeeper::client {

// Thread-safety: thread-safe.
class ScriptedLeaseCalls final : public LeaseCalls {
 public:
  struct ExtendCall {
    LeaseRef lease;
    std::optional<Duration> ttl;
    Duration timeout;
    absl::AnyInvocable<void(ExtendAnswer) &&> done;
  };
  struct ReleaseCall {
    LeaseRef lease;
    TraceContext trace;
    Duration timeout;
    absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done;
  };

  void Extend(const LeaseRef& lease, std::optional<Duration> ttl, Duration timeout,
              absl::AnyInvocable<void(ExtendAnswer) &&> done) override {
    const std::lock_guard lock(mutex_);
    extends_.push_back({lease, ttl, timeout, std::move(done)});
  }

  void Release(const LeaseRef& lease, const TraceContext& trace, Duration timeout,
               absl::AnyInvocable<void(absl::StatusOr<ReleaseOutcome>) &&> done) override {
    const std::lock_guard lock(mutex_);
    releases_.push_back({lease, trace, timeout, std::move(done)});
  }

  void Forget(const LeaseRef& lease) override {
    const std::lock_guard lock(mutex_);
    forgotten_.push_back(lease.lease_id);
  }
  std::vector<std::string> forgotten() const {
    const std::lock_guard lock(mutex_);
    return forgotten_;
  }

  // Calls that are not answered yet.
  size_t extends() const { return Size(extends_); }
  size_t releases() const { return Size(releases_); }

  // Takes the oldest one out. Requires: there is one.
  ExtendCall TakeExtend() { return Take(extends_); }
  ReleaseCall TakeRelease() { return Take(releases_); }

  void AnswerExtend(ExtendAnswer answer) { std::move(TakeExtend().done)(answer); }
  void AnswerRelease(absl::StatusOr<ReleaseOutcome> answer) {
    std::move(TakeRelease().done)(std::move(answer));
  }

 private:
  template <typename Calls>
  size_t Size(const Calls& calls) const {
    const std::lock_guard lock(mutex_);
    return calls.size();
  }

  template <typename Call>
  Call Take(std::deque<Call>& calls) {
    const std::lock_guard lock(mutex_);
    Call call = std::move(calls.front());
    calls.pop_front();
    return call;
  }

  mutable std::mutex mutex_;
  std::deque<ExtendCall> extends_;
  std::deque<ReleaseCall> releases_;
  std::vector<std::string> forgotten_;
};

// Jitter that is always the same.
class FixedJitter final : public Jitter {
 public:
  explicit FixedJitter(double value = 0.5) : value_(value) {}
  double Next() override { return value_; }

 private:
  const double value_;
};

}  // namespace lockkeeper::client
