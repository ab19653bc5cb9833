// SPDX-License-Identifier: Apache-2.0
//
// A line of waiters on a store that the test plays, for the tests of a wait from the daemon's side.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <variant>

#include "core/domain.h"
#include "core/errors.h"
#include "support/manual_executor.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::core {

class LineTest : public testing::Test {
 protected:
  static constexpr Millis kRequestTimeout{1'000};
  static constexpr size_t kWaitersMax = 3;

  // A waiting acquire is told apart by its number.
  static AcquireRequest Request(uint64_t number) {
    AcquireRequest request;
    request.name = "a";
    request.lease_id = LeaseId::FromBits(1, number);
    request.attempt = 3;
    request.ttl = Millis(30'000);
    request.wait_timeout = std::chrono::minutes(1);
    request.keeper = Keeper(7, number);
    request.deadline = Instant::max();
    return request;
  }

  static Waiting PlaceOf(const AcquireRequest& request) {
    return {.number = static_cast<int64_t>(request.keeper == Keeper(7, 1) ? 100 : 200),
            .position = 2,
            .free_in = std::chrono::seconds(30),
            .line = 50};
  }

  void StandInLine(const AcquireRequest& request, Caught<AcquireAnswer>& answer) {
    locks_.Acquire(request, answer.Into());
    store_.acquires.Answer(AcquireOutcome(PlaceOf(request)));
    ASSERT_FALSE(answer.came());
    ASSERT_EQ(locks_.waiting(), 1U);
  }

  static core::Offer OfferTo(const AcquireRequest& request) {
    return {.name = request.name,
            .lease_id = request.lease_id,
            .token = FencingToken{42},
            .remaining = std::chrono::seconds(1),
            .ttl = request.ttl,
            .attempt = request.attempt,
            .keeper = request.keeper};
  }

  static Lease LeaseOf(const AcquireRequest& request) {
    Lease lease;
    lease.name = request.name;
    lease.lease_id = request.lease_id;
    lease.token = FencingToken{42};
    lease.remaining_ttl = request.ttl;
    return lease;
  }

  static const Lease* LeaseIn(const Caught<AcquireAnswer>& answer) {
    if (!answer.came() || !answer.value().ok()) return nullptr;
    return std::get_if<Lease>(&*answer.value());
  }

  static ContentionReason ContentionIn(const Caught<AcquireAnswer>& answer) {
    if (!answer.came() || !answer.value().ok()) return ContentionReason{};
    const auto* contention = std::get_if<Contention>(&*answer.value());
    return contention == nullptr ? ContentionReason{} : contention->reason;
  }

  static std::optional<ErrorReason> ReasonIn(const Caught<AcquireAnswer>& answer) {
    return answer.came() ? ReasonOf(answer.value().status()) : std::nullopt;
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  PendingStore store_;
  RecordingObserver observer_;
  Domain domain_{
      store_,    &store_,
      clock_,    executor_,
      observer_, {.request_timeout = kRequestTimeout, .waiters_per_principal_max = kWaitersMax}};
  LockManager& locks_ = domain_.locks();
  Caught<AcquireAnswer> answer_;
};

}  // namespace lockkeeper::core
