// SPDX-License-Identifier: Apache-2.0
//
// The client's two threads, in real time: what is waited for is an event, never a span of time.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "renewal/boot_clock.h"
#include "renewal/callback_thread.h"
#include "renewal/kept_lease.h"
#include "renewal/timer_thread.h"
#include "support/client/scripted_lease_calls.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;

TEST(TimerThreadTest, WorkRunsInOrderOfItsTimesAndNotBeforeThem) {
  TimerThread timers;
  const BootClock clock;
  const Instant begin = clock.Now();
  std::vector<int> ran;
  std::promise<Instant> last;

  // Asked for by work: while it runs no other does, however late it becomes.
  timers.RunAt(Instant(), [&] {
    timers.RunAt(begin + 20ms, [&] {
      ran.push_back(3);
      last.set_value(clock.Now());
    });
    timers.RunAt(begin + 10ms, [&] { ran.push_back(2); });
    timers.RunAt(begin - 1h, [&] { ran.push_back(1); });
  });

  EXPECT_GE(last.get_future().get(), begin + 20ms);
  EXPECT_EQ(ran, (std::vector{1, 2, 3}));
}

TEST(TimerThreadTest, CancelledWorkDoesNotRun) {
  TimerThread timers;
  bool ran = false;
  std::promise<void> later;

  // While this work runs no other does.
  timers.RunAt(Instant(), [&] {
    const Instant at = BootClock().Now();
    const auto id = timers.RunAt(at, [&] { ran = true; });
    timers.RunAt(at + 10ms, [&] { later.set_value(); });
    timers.Cancel(id);
    timers.Cancel(id);
  });

  later.get_future().wait();
  EXPECT_FALSE(ran);
}

TEST(TimerThreadTest, StopDropsWhatHasNotBegunAndWhatComesLater) {
  TimerThread timers;
  auto held = std::make_shared<int>(0);
  timers.RunAt(BootClock().Now() + 1h, [held] { ADD_FAILURE() << "dropped work ran"; });

  timers.Stop();
  timers.RunAt(Instant(), [held] { ADD_FAILURE() << "work ran after the stop"; });

  EXPECT_EQ(held.use_count(), 1);
}

TEST(TimerThreadTest, WorkMayAskForMoreWork) {
  TimerThread timers;
  std::promise<void> done;

  timers.RunAt(Instant(), [&] { timers.RunAt(Instant(), [&] { done.set_value(); }); });

  done.get_future().wait();
}

TEST(CallbackThreadTest, CallbacksRunInOrderAndBeforeTheEnd) {
  std::vector<int> ran;
  {
    CallbackThread callbacks;
    for (int i = 0; i < 100; ++i) callbacks.Post([&, i] { ran.push_back(i); });
  }

  ASSERT_EQ(ran.size(), 100u);
  EXPECT_TRUE(std::is_sorted(ran.begin(), ran.end()));
}

TEST(CallbackThreadTest, MayBeDestroyedByItsOwnCallback) {
  auto callbacks = std::make_unique<CallbackThread>();
  std::promise<void> done;

  callbacks->Post([&] {
    callbacks.reset();
    done.set_value();
  });

  done.get_future().wait();
}

// All parts with their own threads: leases are kept by answers that come on a third thread, while
// their holders look at them and let them go.
TEST(KeptLeaseThreadsTest, ManyLeasesAreKeptAndDroppedConcurrently) {
  ScriptedLeaseCalls calls;
  FixedJitter jitter(0.0);
  CallbackThread callbacks;
  TimerThread timers;
  const BootClock clock;
  std::atomic<bool> ending = false;
  std::atomic<int> answered = 0;
  std::thread answering([&] {
    while (!ending) {
      if (calls.extends() == 0) {
        std::this_thread::yield();
        continue;
      }
      calls.AnswerExtend(
          {.outcome = ++answered % 3 == 0 ? ExtendOutcome::kNoAnswer : ExtendOutcome::kExtended,
           .remaining_ttl = 100s});
    }
  });

  std::vector<std::thread> holders;
  for (int i = 0; i < 4; ++i) {
    holders.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        // Found with 80 s of its 100 s left, as by a repeat: the renewal is due at once.
        const auto lease =
            KeptLease::Keep({clock, timers, calls, callbacks, jitter}, {"report", "id"},
                            LeaseLife({.ttl = 100s}, clock.Now(), 80s), std::nullopt);
        std::promise<void> extended;
        std::atomic<bool> seen = false;
        lease->OnExtended([&] {
          if (!seen.exchange(true)) extended.set_value();
        });
        // Unless that was before anybody listened; the next one is half a minute away.
        if (lease->remaining() <= 80s) extended.get_future().wait();
        EXPECT_FALSE(lease->lost());
        EXPECT_GT(lease->remaining(), 80s);
        lease->Drop();
        // A callback that had begun may still be running: it uses what is about to go.
        std::promise<void> flushed;
        callbacks.Post([&] { flushed.set_value(); });
        flushed.get_future().wait();
      }
    });
  }
  for (std::thread& holder : holders) holder.join();
  ending = true;
  answering.join();
}

}  // namespace
}  // namespace lockkeeper::client
