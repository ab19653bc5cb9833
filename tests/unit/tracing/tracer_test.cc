// SPDX-License-Identifier: Apache-2.0
// Which operations are traced, and what their spans are.
#include "tracing/tracer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <utility>
#include <vector>

namespace lockkeeper::tracing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using testing::SizeIs;

constexpr char kSampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr char kUnsampled[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

class KeptSpans final : public SpanSink {
 public:
  void Put(Span span) override { spans.push_back(std::move(span)); }
  std::vector<Span> spans;
};

class TracerTest : public testing::Test {
 protected:
  Tracer Make(double ratio, uint64_t seed = 1) {
    return Tracer(
        {.sample_ratio = ratio, .seeds = {seed, seed + 1}, .clock = [this] { return now_; }},
        sink_);
  }

  telemetry::LogTime now_{.wall = std::chrono::system_clock::time_point(microseconds(1'000'000)),
                          .monotonic = core::Instant(milliseconds(7))};
  KeptSpans sink_;
};

TEST(SamplerTest, DecidesByTheBitsThatSdksTake) {
  // The lower 8 bytes without their last bit, compared with the ratio of 2^63.
  EXPECT_TRUE(Sampler(0.5).Samples({~uint64_t{0}, 0x7fffffffffffffff}));
  EXPECT_FALSE(Sampler(0.5).Samples({0, 0x8000000000000000}));
  EXPECT_TRUE(Sampler(0.25).Samples({0, 0x3fffffffffffffff}));
  EXPECT_FALSE(Sampler(0.25).Samples({0, 0x4000000000000000}));
}

TEST(SamplerTest, EndsOfTheRangeAreNoneAndAll) {
  for (const uint64_t low : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
    EXPECT_FALSE(Sampler(0).Samples({1, low})) << low;
    EXPECT_TRUE(Sampler(1).Samples({1, low})) << low;
  }
}

TEST_F(TracerTest, ShareOfCallsWithoutAContextIsTheRatio) {
  constexpr int kCalls = 100'000;
  Tracer tracer = Make(0.01);
  int traced = 0;
  for (int i = 0; i < kCalls; ++i) traced += tracer.Begin({}, {}) != nullptr ? 1 : 0;
  EXPECT_NEAR(traced, kCalls * 0.01, 200) << "six standard deviations";
}

TEST_F(TracerTest, CallerThatGivesAContextDecides) {
  Tracer never = Make(0);
  Tracer always = Make(1);

  EXPECT_NE(never.Begin(kSampled, {}), nullptr);
  EXPECT_EQ(always.Begin(kUnsampled, {}), nullptr);
}

TEST_F(TracerTest, MalformedContextCountsAsNone) {
  EXPECT_EQ(Make(0).Begin("00-0af7651916cd43dd8448eb211c80319c-01", {}), nullptr);
  const CallTraceRef trace = Make(1).Begin("01", "rojo=1");
  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->parent_id, 0U);
  EXPECT_EQ(trace->trace_state, "") << "it belongs to the traceparent";
}

TEST_F(TracerTest, CallIsAChildOfItsCaller) {
  const CallTraceRef trace = Make(0).Begin(kSampled, "rojo=1,congo=2");

  ASSERT_NE(trace, nullptr);
  EXPECT_EQ(trace->trace_id, (TraceId{0x0af7651916cd43dd, 0x8448eb211c80319c}));
  EXPECT_EQ(trace->parent_id, 0xb7ad6b7169203331);
  EXPECT_NE(trace->span_id, trace->parent_id);
  EXPECT_EQ(trace->trace_state, "rojo=1,congo=2");
}

TEST_F(TracerTest, StateThatMayNotBePassedOnIsLeftOut) {
  const CallTraceRef trace = Make(0).Begin(kSampled, std::string(kTracestateBytesMax + 1, 'a'));
  ASSERT_NE(trace, nullptr) << "the traceparent is good";
  EXPECT_EQ(trace->trace_state, "");
}

TEST_F(TracerTest, SpansBelowTheCallLinkToIt) {
  Tracer tracer = Make(0);
  const CallTraceRef trace = tracer.Begin(kSampled, "rojo=1");
  tracer.End(*trace, tracer.Start(*trace, "store", SpanKind::kClient));
  tracer.Put(tracer.CallSpan(*trace, "lockkeeper.v1.LockService/Acquire"));

  ASSERT_THAT(sink_.spans, SizeIs(2));
  const auto& [store, call] = std::pair(sink_.spans[0], sink_.spans[1]);
  EXPECT_EQ(store.name, "store");
  EXPECT_EQ(store.kind, SpanKind::kClient);
  EXPECT_EQ(store.trace_id, call.trace_id);
  EXPECT_EQ(store.parent_id, call.span_id);
  EXPECT_NE(store.span_id, call.span_id);
  EXPECT_EQ(store.trace_state, "rojo=1");
  EXPECT_FALSE(store.parent_is_remote);
  EXPECT_EQ(call.parent_id, 0xb7ad6b7169203331);
  EXPECT_TRUE(call.parent_is_remote);
  EXPECT_EQ(call.kind, SpanKind::kServer);
}

TEST_F(TracerTest, RootHasNoParent) {
  Tracer tracer = Make(1);
  const CallTraceRef trace = tracer.Begin({}, {});
  const Span call = tracer.CallSpan(*trace, "x");

  EXPECT_EQ(call.parent_id, 0U);
  EXPECT_FALSE(call.parent_is_remote);
}

TEST_F(TracerTest, TimesAreCountedFromTheBeginWhateverTheWallClockDoes) {
  Tracer tracer = Make(1);
  const CallTraceRef trace = tracer.Begin({}, {});
  now_.monotonic += milliseconds(2);
  Span store = tracer.Start(*trace, "store", SpanKind::kClient);
  now_.monotonic += milliseconds(3);
  now_.wall -= std::chrono::hours(1);  // Somebody sets the clock.
  tracer.End(*trace, store);
  const Span call = tracer.CallSpan(*trace, "x");

  EXPECT_EQ(call.begin, 1'000'000'000);
  EXPECT_EQ(sink_.spans.at(0).begin, 1'002'000'000);
  EXPECT_EQ(sink_.spans.at(0).end, 1'005'000'000);
  EXPECT_EQ(call.end, 1'005'000'000);
}

TEST_F(TracerTest, IdsAreNewOverAllThreadsAndNeverZero) {
  constexpr int kThreads = 4;
  constexpr int kEach = 5'000;
  Tracer tracer = Make(1);
  std::vector<std::vector<CallTraceRef>> traces(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (auto& mine : traces) {
    threads.emplace_back([&tracer, &mine] {
      for (int i = 0; i < kEach; ++i) mine.push_back(tracer.Begin({}, {}));
    });
  }
  for (std::thread& thread : threads) thread.join();

  std::set<TraceId> ids;
  std::set<SpanId> spans;
  for (const auto& mine : traces) {
    for (const CallTraceRef& trace : mine) {
      EXPECT_TRUE(ids.insert(trace->trace_id).second);
      EXPECT_TRUE(spans.insert(trace->span_id).second);
      EXPECT_NE(trace->span_id, 0U);
      EXPECT_NE(trace->trace_id.low, 0U);
    }
  }
  EXPECT_THAT(ids, SizeIs(kThreads * kEach));
}

TEST_F(TracerTest, OtherSeedsGiveOtherIds) {
  EXPECT_NE(Make(1, 1).Begin({}, {})->trace_id, Make(1, 100).Begin({}, {})->trace_id);
}

}  // namespace
}  // namespace lockkeeper::tracing
