// SPDX-License-Identifier: Apache-2.0
#include "loop/event_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <thread>
#include <vector>

#include "loop/socket_watcher.h"
#include "os/descriptor.h"

namespace lockkeeper::loop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

constexpr seconds kPatience{30};

// Waits for what must come.
template <typename T>
T Await(std::future<T> future) {
  if (future.wait_for(kPatience) != std::future_status::ready) throw std::runtime_error("nothing");
  return future.get();
}

class EventLoopTest : public testing::Test {
 protected:
  EventLoop loop_{"test"};
};

TEST_F(EventLoopTest, PostedTasksRunInOrderOnTheLoopsThread) {
  std::vector<int> ran;
  bool on_loop = true;
  for (int i = 0; i < 3; ++i) {
    loop_.Post([&, i] {
      ran.push_back(i);
      on_loop = on_loop && loop_.IsLoopThread();
    });
  }
  loop_.RunAndWait([] {});

  EXPECT_THAT(ran, ElementsAre(0, 1, 2));
  EXPECT_TRUE(on_loop);
  EXPECT_FALSE(loop_.IsLoopThread());
}

TEST_F(EventLoopTest, EveryPostOfManyThreadsRunsOnceAndInTheOrderOfItsThread) {
  constexpr size_t kThreads = 8;
  constexpr int kPosts = 20'000;
  std::vector<int> next(kThreads, 0);
  std::atomic<int> disorder = 0;
  std::vector<std::jthread> threads;
  threads.reserve(kThreads);
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kPosts; ++i) {
        loop_.Post([&, t, i] { disorder += next[t]++ != i; });
      }
    });
  }
  threads.clear();
  loop_.RunAndWait([] {});

  EXPECT_THAT(next, testing::Each(kPosts));
  EXPECT_EQ(disorder, 0);
}

TEST_F(EventLoopTest, TaskPostedByATaskRunsAfterItReturned) {
  std::promise<std::vector<int>> done;
  std::vector<int> ran;
  loop_.Post([&] {
    loop_.Post([&] {
      ran.push_back(2);
      done.set_value(ran);
    });
    ran.push_back(1);
  });

  EXPECT_THAT(Await(done.get_future()), ElementsAre(1, 2));
}

TEST_F(EventLoopTest, EndOfTurnComesAfterEverythingPostedBefore) {
  std::vector<std::string> ran;
  loop_.RunAndWait([&] {
    loop_.AtEndOfTurn([&] { ran.emplace_back("end"); });
    ran.emplace_back("task");
  });
  loop_.RunAndWait([&] { ran.emplace_back("next turn"); });

  EXPECT_THAT(ran, ElementsAre("task", "end", "next turn"));
}

// Goal: tasks that are posted while the loop is busy are gathered: one end of turn for all.
TEST_F(EventLoopTest, TasksPostedMeanwhileShareOneEndOfTurn) {
  constexpr int kPosts = 100;
  std::promise<void> go;
  loop_.Post([wait = go.get_future()] { wait.wait(); });
  std::vector<int> turns;
  int in_turn = 0;
  for (int i = 0; i < kPosts; ++i) {
    loop_.Post([&] {
      if (in_turn++ == 0) {
        loop_.AtEndOfTurn([&] { turns.push_back(std::exchange(in_turn, 0)); });
      }
    });
  }
  go.set_value();
  loop_.RunAndWait([] {});
  loop_.RunAndWait([] {});

  int sum = 0;
  for (const int count : turns) sum += count;
  EXPECT_EQ(sum, kPosts);
  EXPECT_LE(turns.size(), 2u);  // The first few may have come before the loop was busy.
}

TEST_F(EventLoopTest, EndOfTurnTaskMayAddOneOfTheSameTurnAndPostForTheNext) {
  std::promise<void> done;
  std::vector<std::string> ran;
  loop_.RunAndWait([&] {
    loop_.AtEndOfTurn([&] {
      loop_.Post([&] {
        ran.emplace_back("next turn");
        done.set_value();
      });
      loop_.AtEndOfTurn([&] { ran.emplace_back("end of end"); });
      ran.emplace_back("end");
    });
  });
  Await(done.get_future());

  EXPECT_THAT(ran, ElementsAre("end", "end of end", "next turn"));
}

TEST_F(EventLoopTest, TimersAreNeverEarlyAndRunInTheOrderOfTheirTime) {
  // A timer is due between these two, however long it took to set it.
  struct Set {
    core::Instant due_earliest;
    core::Instant due_latest;
    core::Instant fired;
  };
  const std::vector<int> delays = {20'000, 900, 5'000, 300, 0, 10'000, 1'700};
  std::promise<void> done;
  std::vector<Set> set(delays.size());
  std::vector<Set> order;
  std::vector<std::unique_ptr<core::Timer>> timers;
  loop_.RunAndWait([&] {
    for (size_t i = 0; i < delays.size(); ++i) {
      const core::Micros delay(delays[i]);
      set[i].due_earliest = loop_.Now() + delay;
      timers.push_back(loop_.After(delay, [&, i] {
        set[i].fired = loop_.Now();
        order.push_back(set[i]);
        if (order.size() == delays.size()) done.set_value();
      }));
      set[i].due_latest = loop_.Now() + delay;
    }
  });
  Await(done.get_future());

  for (size_t i = 0; i < order.size(); ++i) {
    EXPECT_GE(order[i].fired, order[i].due_earliest);
    if (i > 0) {
      EXPECT_LE(order[i - 1].due_earliest, order[i].due_latest);
    }
  }
}

TEST_F(EventLoopTest, EarlierTimerSetLaterIsNotHeldUpByALaterOne) {
  std::promise<void> done;
  std::unique_ptr<core::Timer> late;
  std::unique_ptr<core::Timer> early;
  loop_.RunAndWait([&] { late = loop_.After(std::chrono::hours(1), [] { FAIL(); }); });
  loop_.RunAndWait([&] { early = loop_.After(milliseconds(1), [&] { done.set_value(); }); });

  Await(done.get_future());
  loop_.RunAndWait([&] { late.reset(); });
}

TEST_F(EventLoopTest, CancelledTimerDoesNotRun) {
  std::promise<void> done;
  std::unique_ptr<core::Timer> cancelled;
  std::unique_ptr<core::Timer> later;
  loop_.RunAndWait([&] {
    cancelled = loop_.After(milliseconds(1), [] { FAIL(); });
    later = loop_.After(milliseconds(2), [&] { done.set_value(); });
    cancelled.reset();
  });

  Await(done.get_future());
}

TEST_F(EventLoopTest, TimerMaySetItselfAnewInItsOwnTask) {
  constexpr int kRounds = 5;
  std::promise<void> done;
  std::unique_ptr<core::Timer> timer;
  int rounds = 0;
  std::function<void()> again = [&] {
    if (++rounds == kRounds) return done.set_value();
    timer = loop_.After(core::Micros(100), [&] { again(); });
  };
  loop_.RunAndWait([&] { again(); });

  Await(done.get_future());
}

TEST_F(EventLoopTest, TimerMayOutliveTheLoop) {
  auto loop = std::make_unique<EventLoop>("short");
  std::unique_ptr<core::Timer> timer;
  loop->RunAndWait([&] { timer = loop->After(std::chrono::hours(1), [] { FAIL(); }); });

  loop.reset();
}

TEST_F(EventLoopTest, StopRunsWhatWasPostedAndWhatThatPosts) {
  int ran = 0;
  loop_.Post([&] {
    ++ran;
    loop_.Post([&] {
      ++ran;
      loop_.AtEndOfTurn([&] { loop_.Post([&] { ++ran; }); });
    });
  });
  loop_.Stop();

  EXPECT_EQ(ran, 3);
}

TEST_F(EventLoopTest, TaskPostedAfterStopIsDestroyedWithoutRunning) {
  auto held = std::make_shared<int>(0);
  loop_.Stop();
  loop_.Post([held] { ++*held; });
  loop_.RunAndWait([held] { ++*held; });
  loop_.Stop();

  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

TEST_F(EventLoopTest, PostsRacingWithStopRunOrAreDestroyed) {
  const auto held = std::make_shared<int>(0);
  {
    std::jthread poster([&] {
      for (int i = 0; i < 10'000; ++i) loop_.Post([held] {});
    });
    loop_.Stop();
  }

  EXPECT_EQ(held.use_count(), 1);
}

TEST_F(EventLoopTest, ThreadTakesNoSignals) {
  sigset_t blocked;
  loop_.RunAndWait([&] { pthread_sigmask(SIG_SETMASK, nullptr, &blocked); });

  EXPECT_TRUE(sigismember(&blocked, SIGTERM));
  EXPECT_TRUE(sigismember(&blocked, SIGPIPE));
}

class SocketWatcherTest : public EventLoopTest {
 protected:
  SocketWatcherTest() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) != 0) std::abort();
    ours_ = os::Descriptor(ends[0]);
    theirs_ = os::Descriptor(ends[1]);
  }
  void TearDown() override {
    loop_.RunAndWait([this] { watcher_.reset(); });
  }

  void Watch(SocketInterest interest, SocketWatcher::Callback callback) {
    loop_.RunAndWait([&] {
      watcher_.reset();
      watcher_ = std::make_unique<SocketWatcher>(loop_, ours_.get(), std::move(callback));
      watcher_->Watch(interest);
    });
  }

  os::Descriptor ours_;
  os::Descriptor theirs_;
  std::unique_ptr<SocketWatcher> watcher_;
};

TEST_F(SocketWatcherTest, TellsReadableWhenSomethingCame) {
  std::promise<SocketEvents> done;
  Watch(SocketInterest::kRead, [&](SocketEvents events) {
    watcher_.reset();  // In its own callback.
    done.set_value(events);
  });
  ASSERT_EQ(write(theirs_.get(), "x", 1), 1);

  const SocketEvents events = Await(done.get_future());

  EXPECT_TRUE(events.readable);
  EXPECT_FALSE(events.writable);
}

TEST_F(SocketWatcherTest, TellsWritableOnlyIfAsked) {
  std::promise<SocketEvents> done;
  Watch(SocketInterest::kRead, [](SocketEvents) { FAIL(); });
  loop_.RunAndWait([] {});
  Watch(SocketInterest::kReadAndWrite, [&](SocketEvents events) {
    watcher_->Watch(SocketInterest::kRead);
    done.set_value(events);
  });

  EXPECT_TRUE(Await(done.get_future()).writable);
}

TEST_F(SocketWatcherTest, ClosedPeerShowsAsReadable) {
  std::promise<SocketEvents> done;
  Watch(SocketInterest::kRead, [&](SocketEvents events) {
    watcher_.reset();
    done.set_value(events);
  });
  theirs_ = os::Descriptor();

  EXPECT_TRUE(Await(done.get_future()).readable);
}

TEST_F(SocketWatcherTest, DestroyedWatcherIsSilentEvenIfItsSocketIsReady) {
  bool called = false;
  loop_.RunAndWait([&] {
    watcher_ =
        std::make_unique<SocketWatcher>(loop_, ours_.get(), [&](SocketEvents) { called = true; });
    watcher_->Watch(SocketInterest::kRead);
    ASSERT_EQ(write(theirs_.get(), "x", 1), 1);
    watcher_.reset();
  });
  loop_.RunAndWait([] {});

  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace lockkeeper::loop
