// SPDX-License-Identifier: Apache-2.0
//
// The fixture of what a store does that may have forgotten leases: each daemon has a guard.
#pragma once

#include <gmock/gmock.h>

#include <string>

#include "contract/redis/redis_contract.h"
#include "redis/format/marker_columns.h"

namespace lockkeeper::support {

// How long nothing is granted after a loss: see QuarantineOf.
constexpr Millis QuarantineAfter(Millis ceiling) { return ceiling + ceiling / 100 + Millis(1); }
inline constexpr Millis kQuarantine = QuarantineAfter(kTtl);

class GuardedContract : public RedisContract {
 protected:
  void Pass(Micros time) { world_->LetTimePass(time); }

  void ForgetEverything() { world_->Run({"FLUSHALL"}); }
  // Forgets nothing, but who can know that? Not so far that records expire.
  void SetTheClock() { StepBy(std::chrono::seconds(10)); }

  // What the holder of a lease, as it was granted, asks for after a loss.
  core::ExtendRequest ProvedExtendOf(const core::AcquireRequest& of, const core::Lease& lease) {
    core::ExtendRequest request = ExtendOf(of.name, of.lease_id);
    request.principal = of.principal;
    request.token = lease.token;
    request.reassertion = lease.reassertion;
    return request;
  }

  // Requests that were made long ago, by a clock that has moved since.
  template <typename Request>
  Request Now(Request request) {
    request.deadline = Deadline();
    return request;
  }

  absl::Status Extended(const core::ExtendRequest& request) { return Ask(Now(request)).status(); }

  // A daemon has to be there before a loss, to notice it.
  void Meet(size_t daemon) {
    Grant(AcquireOf("met", Id(900 + daemon)), daemon);
    Release("met", Id(900 + daemon));
  }

  // A daemon asks about its waiters.
  core::PollAnswer Poll(const std::string& name, int64_t line, size_t daemon = 0) {
    Daemon& asked = world_->daemon(daemon);
    const auto answer = AskOnLoop<core::PollAnswer>([&](core::Done<core::PollAnswer> done) {
      asked.line.Poll({.name = name, .line = line, .deadline = Deadline()}, std::move(done));
    });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(core::PollAnswer());
  }

  absl::StatusOr<core::EndQuarantineAnswer> EndQuarantine(int64_t epoch, size_t daemon = 0) {
    Daemon& asked = world_->daemon(daemon);
    return AskOnLoop<core::EndQuarantineAnswer>([&](core::Done<core::EndQuarantineAnswer> done) {
      asked.admin.EndQuarantine({.epoch = epoch, .deadline = Deadline()}, std::move(done));
    });
  }

  // Asks again while the guard checks the store, as an operator is told to.
  core::EndQuarantineAnswer EndQuarantineOnceChecked(int64_t epoch) {
    constexpr int kTries = 100'000;
    absl::StatusOr<core::EndQuarantineAnswer> answer = EndQuarantine(epoch);
    for (int i = 1; i < kTries && ReasonOf(answer) == core::ErrorReason::kStoreUnavailable; ++i) {
      world_->Run({"PING"});
      answer = EndQuarantine(epoch);
    }
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(core::EndQuarantineAnswer());
  }

  std::vector<redis::LossKind> Noticed(size_t daemon = 0) {
    std::vector<redis::LossKind> losses;
    Daemon& asked = world_->daemon(daemon);
    world_->OnLoop([&] { losses = asked.noticed.losses; });
    return losses;
  }

  std::string Marker() { return world_->Run({"GET", "lk:store"}).text; }
  void PutMarker(std::string_view text) { world_->Run({"SET", "lk:store", text}); }
  Millis Ceiling() {
    return Millis(std::stoll(std::string(redis::marker_column::kTtlCeiling.Of(Marker()))));
  }
};

#define LOCKKEEPER_GUARDED_SUITE(fixture)   \
  INSTANTIATE_TEST_SUITE_P(Stores, fixture, \
                           testing::ValuesIn(RedisWorldKinds(Guarding::kGuarded)), NameOf)

}  // namespace lockkeeper::support
