// SPDX-License-Identifier: Apache-2.0
#include "loop/timer_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lockkeeper::loop {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;

core::Instant At(int millis) { return core::Instant(milliseconds(millis)); }

class TimerHeapTest : public testing::Test {
 protected:
  std::unique_ptr<core::Timer> Add(int due, int id) {
    return heap_.Add(At(due), [this, id] { ran_.push_back(id); });
  }

  TimerHeap heap_;
  std::vector<int> ran_;
};

TEST_F(TimerHeapTest, EmptyHeapIsNeverDue) {
  EXPECT_EQ(heap_.NextDue(), std::nullopt);
  heap_.RunDue(At(1000));
}

TEST_F(TimerHeapTest, RunsWhatIsDueEarliestFirst) {
  const auto late = Add(30, 3);
  const auto early = Add(10, 1);
  const auto middle = Add(20, 2);

  EXPECT_EQ(heap_.NextDue(), At(10));
  heap_.RunDue(At(9));
  EXPECT_THAT(ran_, ElementsAre());
  heap_.RunDue(At(20));
  EXPECT_THAT(ran_, ElementsAre(1, 2));
  EXPECT_EQ(heap_.NextDue(), At(30));
}

TEST_F(TimerHeapTest, EqualTimesRunInTheOrderOfAdding) {
  std::vector<std::unique_ptr<core::Timer>> timers(6);
  for (int id = 0; id < 6; ++id) timers[static_cast<size_t>(id)] = Add(10, id);

  heap_.RunDue(At(10));

  EXPECT_THAT(ran_, ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(TimerHeapTest, DestroyedTimerDoesNotRun) {
  const auto first = Add(10, 1);
  auto second = Add(20, 2);
  const auto third = Add(30, 3);

  second.reset();
  heap_.RunDue(At(100));

  EXPECT_THAT(ran_, ElementsAre(1, 3));
  EXPECT_EQ(heap_.size(), 0u);
}

TEST_F(TimerHeapTest, TimerMayBeDestroyedByItsOwnTask) {
  std::unique_ptr<core::Timer> timer;
  timer = heap_.Add(At(10), [&] {
    timer.reset();
    ran_.push_back(1);
  });

  heap_.RunDue(At(10));

  EXPECT_THAT(ran_, ElementsAre(1));
}

TEST_F(TimerHeapTest, TaskMayDestroyAnotherTimerThatIsDue) {
  std::unique_ptr<core::Timer> victim;
  const auto killer = heap_.Add(At(10), [&] { victim.reset(); });
  victim = Add(10, 2);

  heap_.RunDue(At(10));

  EXPECT_THAT(ran_, ElementsAre());
}

TEST_F(TimerHeapTest, TimerAddedByATaskWaitsForTheNextCall) {
  std::unique_ptr<core::Timer> again;
  const auto timer = heap_.Add(At(10), [&] { again = Add(10, 2); });

  heap_.RunDue(At(10));
  EXPECT_THAT(ran_, ElementsAre());
  heap_.RunDue(At(10));
  EXPECT_THAT(ran_, ElementsAre(2));
}

TEST_F(TimerHeapTest, TimerMayOutliveTheHeap) {
  auto heap = std::make_unique<TimerHeap>();
  const auto timer = heap->Add(At(10), [] { FAIL(); });

  heap.reset();
}

// Goal: order survives any mix of adding, cancelling and running. Method: against a sorted list.
TEST_F(TimerHeapTest, RandomMixRunsLikeASortedList) {
  for (uint32_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 engine(seed);
    TimerHeap heap;
    std::vector<std::pair<int, int>> ran;
    std::vector<std::pair<int, int>> expected;
    struct Kept {
      std::pair<int, int> key;
      std::unique_ptr<core::Timer> timer;
    };
    std::vector<Kept> kept;
    for (int i = 0; i < 300; ++i) {
      const std::pair key(static_cast<int>(engine() % 100), i);
      kept.push_back({key, heap.Add(At(key.first), [&ran, key] { ran.push_back(key); })});
      if (engine() % 3 == 0) {
        std::swap(kept[engine() % kept.size()], kept.back());
        kept.pop_back();
      }
    }
    expected.reserve(kept.size());
    for (const Kept& timer : kept) expected.push_back(timer.key);
    std::sort(expected.begin(), expected.end());

    for (int now = 0; now <= 100; now += 7) heap.RunDue(At(now));
    heap.RunDue(At(100));

    EXPECT_EQ(ran, expected);
  }
}

}  // namespace
}  // namespace lockkeeper::loop
