// SPDX-License-Identifier: Apache-2.0
//
// The spans of the store and of waits, between the domain and a store that answers when the test
// says so.
#include "tracing/traced_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/domain.h"
#include "core/errors.h"
#include "support/manual_clock.h"
#include "support/manual_executor.h"
#include "tracing/lock_observer.h"
#include "unit/core/pending_store.h"

namespace lockkeeper::tracing {
namespace {

using core::Caught;
using core::Millis;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class KeptSpans final : public SpanSink {
 public:
  void Put(Span span) override { spans.push_back(std::move(span)); }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    names.reserve(spans.size());
    for (const Span& span : spans) {
      names.push_back(span.name + " " + TextOf(span, "db.operation.name"));
    }
    return names;
  }
  static std::string TextOf(const Span& span, std::string_view key) {
    for (const Attribute& attribute : span.attributes) {
      if (attribute.key != key) continue;
      const auto* const number = std::get_if<int64_t>(&attribute.value);
      if (number != nullptr) return std::to_string(*number);
      const auto* const constant = std::get_if<std::string_view>(&attribute.value);
      return constant != nullptr ? std::string(*constant) : std::get<std::string>(attribute.value);
    }
    return "";
  }

  std::vector<Span> spans;
};

class TracedStoreTest : public testing::Test {
 protected:
  core::AcquireRequest Request(Millis wait_timeout = {}) {
    return {.name = "a",
            .lease_id = core::LeaseId::FromBits(1, 2),
            .ttl = Millis(30'000),
            .wait_timeout = wait_timeout,
            .keeper = core::Keeper(1, 1),
            .deadline = core::Instant::max(),
            .trace = trace_};
  }
  core::Lease LeaseOf(const core::AcquireRequest& request, bool offered = false) {
    core::Lease lease;
    lease.name = request.name;
    lease.lease_id = request.lease_id;
    lease.token = {42};
    lease.ttl = request.ttl;
    lease.remaining_ttl = request.ttl;
    lease.offered = offered;
    return lease;
  }
  core::Offer OfferTo(const core::AcquireRequest& request) {
    return {.name = request.name,
            .lease_id = request.lease_id,
            .token = {42},
            .remaining = core::Micros(1'000'000),
            .ttl = request.ttl,
            .keeper = request.keeper};
  }
  void Advance(Millis by) {
    time_ += by;
    executor_.AdvanceBy(by);
  }

  support::ManualClock clock_;
  support::ManualExecutor executor_{clock_};
  core::Millis time_{0};
  KeptSpans sink_;
  Tracer tracer_{{.clock =
                      [this] {
                        return telemetry::LogTime{.wall = std::chrono::system_clock::time_point(),
                                                  .monotonic = core::Instant(time_)};
                      }},
                 sink_};
  core::PendingStore pending_;
  core::RecordingObserver seen_;
  TracedStore store_{pending_, pending_, tracer_, "redis"};
  TracedLockObserver observer_{seen_, tracer_};
  core::Domain domain_{store_, &store_, clock_, executor_, observer_, {}};
  core::TraceRef trace_ = tracer_.Begin(kSampled, {});
};

TEST_F(TracedStoreTest, AcquireIsOneSpanFromTheQuestionToTheAnswer) {
  Caught<core::AcquireAnswer> answer;
  Advance(Millis(5));
  domain_.locks().Acquire(Request(), answer.Into());
  Advance(Millis(7));
  EXPECT_THAT(sink_.spans, IsEmpty()) << "it has no end yet";
  pending_.acquires.Answer(LeaseOf(Request()));

  ASSERT_TRUE(answer.came());
  ASSERT_THAT(sink_.Names(), ElementsAre("store acquire"));
  const Span& span = sink_.spans[0];
  EXPECT_EQ(span.kind, SpanKind::kClient);
  EXPECT_EQ(span.parent_id, OwnTrace(trace_).span_id);
  EXPECT_EQ(span.trace_id, OwnTrace(trace_).trace_id);
  EXPECT_EQ(KeptSpans::TextOf(span, "db.system"), "redis");
  EXPECT_EQ(span.begin, 5'000'000);
  EXPECT_EQ(span.end, 12'000'000);
  EXPECT_FALSE(span.failed);
}

TEST_F(TracedStoreTest, OperationsThatAreNotTracedHaveNoSpans) {
  trace_ = nullptr;
  Caught<core::AcquireAnswer> answer;
  domain_.locks().Acquire(Request(Millis(1'000)), answer.Into());
  pending_.acquires.Answer(core::AcquireOutcome(core::Waiting{.number = 1, .position = 1}));
  Advance(Millis(2'000));

  EXPECT_EQ(seen_.waits_begun, 1U);
  EXPECT_THAT(sink_.spans, IsEmpty());
}

TEST_F(TracedStoreTest, EachKindOfOperationHasItsSpan) {
  Caught<core::Lease> extended;
  Caught<core::ReleaseAnswer> released;
  Caught<core::FenceAnswer> fenced;
  domain_.locks().Extend({.name = "a", .deadline = core::Instant::max(), .trace = trace_},
                         extended.Into());
  pending_.extends.Answer(core::Error(core::ErrorReason::kLeaseLost, "it has ended"));
  domain_.locks().Release({.name = "a", .deadline = core::Instant::max(), .trace = trace_},
                          released.Into());
  pending_.releases.Answer(core::ReleaseAnswer());
  domain_.locks().Fence({.name = "a", .deadline = core::Instant::max(), .trace = trace_},
                        fenced.Into());
  pending_.fences.Answer(core::Error(core::ErrorReason::kStoreUnavailable, "it is away"));

  ASSERT_THAT(sink_.Names(), ElementsAre("store extend", "store release", "store fence"));
  EXPECT_FALSE(sink_.spans[0].failed) << "the store works";
  EXPECT_EQ(KeptSpans::TextOf(sink_.spans[0], "lockkeeper.reason"), "LEASE_LOST");
  EXPECT_TRUE(sink_.spans[2].failed);
  EXPECT_EQ(sink_.spans[2].problem, "it is away");
  EXPECT_EQ(KeptSpans::TextOf(sink_.spans[2], "lockkeeper.reason"), "STORE_UNAVAILABLE");
  EXPECT_TRUE(extended.came() && released.came() && fenced.came());
}

TEST_F(TracedStoreTest, WaitIsASpanFromTheLineToTheGrant) {
  Caught<core::AcquireAnswer> answer;
  const core::AcquireRequest request = Request(Millis(60'000));
  domain_.locks().Acquire(request, answer.Into());
  Advance(Millis(3));
  pending_.acquires.Answer(core::AcquireOutcome(core::Waiting{.number = 9, .position = 4}));
  Advance(Millis(200));
  pending_.listener->OnOffer(OfferTo(request));
  Advance(Millis(1));
  pending_.extends.Answer(LeaseOf(request));  // The daemon claims for its client.

  ASSERT_TRUE(answer.came());
  EXPECT_THAT(sink_.Names(), ElementsAre("store stand", "store extend", "wait "));
  const Span& wait = sink_.spans.back();
  EXPECT_EQ(wait.kind, SpanKind::kInternal);
  EXPECT_EQ(wait.parent_id, OwnTrace(trace_).span_id);
  EXPECT_EQ(wait.begin, 3'000'000);
  EXPECT_EQ(wait.end, 204'000'000);
  EXPECT_EQ(KeptSpans::TextOf(wait, "lockkeeper.wait.position"), "4");
  EXPECT_EQ(KeptSpans::TextOf(wait, "lockkeeper.wait.end"), "granted");
  EXPECT_THAT(seen_.waits_ended, SizeIs(1)) << "the other observer hears of it, too";
}

TEST_F(TracedStoreTest, WaitInVainSaysSo) {
  Caught<core::AcquireAnswer> answer;
  domain_.locks().Acquire(Request(Millis(100)), answer.Into());
  pending_.acquires.Answer(core::AcquireOutcome(core::Waiting{.number = 1, .position = 1}));
  Advance(Millis(100));
  pending_.withdrawals.Answer(core::WithdrawResult::kNotGranted);

  ASSERT_TRUE(answer.came());
  EXPECT_THAT(sink_.Names(), ElementsAre("store stand", "wait "));
  EXPECT_EQ(KeptSpans::TextOf(sink_.spans.back(), "lockkeeper.wait.end"), "timed_out");
}

TEST_F(TracedStoreTest, ObserverPassesEverythingOn) {
  observer_.OnReleased(core::Micros(5));
  observer_.OnExpiredLeaseReplaced("a", {7});
  observer_.OnWithdrawalEnded("a", core::WithdrawalEnd::kKept);
  observer_.OnWaitEnded("a", core::Keeper(3, 4), core::WaitEnd::kDrained, core::Micros(1));

  EXPECT_THAT(seen_.held_for, ElementsAre(core::Micros(5)));
  EXPECT_THAT(seen_.expired, SizeIs(1));
  EXPECT_THAT(seen_.withdrawals, SizeIs(1));
  EXPECT_THAT(seen_.waits_ended, SizeIs(1));
  EXPECT_THAT(sink_.spans, IsEmpty()) << "it was no wait of a traced acquire";
}

}  // namespace
}  // namespace lockkeeper::tracing
