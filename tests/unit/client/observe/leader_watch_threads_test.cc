// SPDX-License-Identifier: Apache-2.0
//
// An observer on real threads, closed at any moment. What is waited for is an event, never a span
// of time; the thread sanitizer looks on.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "observe/leader_watch.h"
#include "renewal/boot_clock.h"
#include "renewal/callback_thread.h"
#include "renewal/timer_thread.h"
#include "support/client/scripted_lease_calls.h"
#include "support/spin.h"

namespace lockkeeper::client {
namespace {

using namespace std::chrono_literals;
using Kind = LockEvent::Kind;

// Daemons that answer on a thread of their own: a lock that changes hands all the time, streams
// that end, and looks that fail. Thread-safety: thread-safe.
class BusyDaemons final : public WatchCalls {
 public:
  size_t size() const override { return 2; }
  size_t current() const override { return 0; }
  void Failed(size_t, const absl::Status&) override { ++failed; }

  std::shared_ptr<WatchStream> NewWatch(size_t, const std::string&,
                                        WatchListener listener) override {
    return std::make_shared<Watch>(*this, std::move(listener));
  }
  std::shared_ptr<LookCall> NewLook(size_t, const std::string&, LookCall::Done done) override {
    return std::make_shared<Look>(*this, std::move(done));
  }

  std::atomic<int> failed = 0;

 private:
  class Watch final : public WatchStream, public std::enable_shared_from_this<Watch> {
   public:
    Watch(BusyDaemons& daemons, WatchListener listener)
        : daemons_(daemons), listener_(std::move(listener)) {}

    void Read() override {
      daemons_.answers_.Post([self = shared_from_this()] { self->Answer(); });
    }
    void Cancel() override {
      daemons_.answers_.Post([self = shared_from_this()] { self->End(); });
    }

   private:
    void Answer() {
      if (!listener_.on_end) return;
      ++reads_;
      if (reads_ == 1) return listener_.on_events({{Kind::kStarted, {}}});
      if (reads_ == 4) return End();
      const int64_t token = ++daemons_.token_;
      listener_.on_events({{Kind::kGranted, {.fencing_token = token, .owner = "o"}},
                           {Kind::kLost, {.fencing_token = token}},
                           {Kind::kEnded, {.fencing_token = token}}});
    }
    void End() {
      if (listener_.on_end) std::exchange(listener_, {}).on_end(absl::UnavailableError("gone"));
    }

    BusyDaemons& daemons_;
    WatchListener listener_;  // Used by the thread that answers, as the next one.
    int reads_ = 0;
  };

  class Look final : public LookCall, public std::enable_shared_from_this<Look> {
   public:
    Look(BusyDaemons& daemons, Done done) : daemons_(daemons), done_(std::move(done)) {}

    void Begin() override {
      daemons_.answers_.Post([self = shared_from_this()] {
        if (++self->daemons_.looks_ % 3 == 0) return self->Answer(absl::UnavailableError("gone"));
        const int64_t token = self->daemons_.token_;
        self->Answer(LockLook{.state = LockLook::State::kEnded, .lease = {.fencing_token = token}});
      });
    }
    void Cancel() override {
      daemons_.answers_.Post(
          [self = shared_from_this()] { self->Answer(absl::CancelledError("")); });
    }

   private:
    void Answer(absl::StatusOr<LockLook> look) {
      if (done_) std::move(std::exchange(done_, nullptr))(std::move(look));
    }

    BusyDaemons& daemons_;
    Done done_;  // Used by the thread that answers.
  };

  int64_t token_ = 0;  // Used by the thread that answers, as the next one.
  int looks_ = 0;
  CallbackThread answers_;
};

TEST(LeaderWatchThreadsTest, ChangesComeOneByOneAndNoneAfterClose) {
  const BootClock clock;
  FixedJitter jitter(0);
  TimerThread timers;
  BusyDaemons daemons;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> running = 0;
    std::atomic<bool> closed = false;
    std::atomic<int> told = 0;
    int64_t last = 0;
    const auto run = [&](int64_t token) {
      EXPECT_EQ(++running, 1);
      EXPECT_FALSE(closed);
      EXPECT_TRUE(token == 0 || token > last);
      if (token != 0) last = token;
      told.fetch_add(1);
      told.notify_all();
      --running;
    };
    const ObserveOptions options{
        .on_change = [&](const auto& leader) { run(leader ? leader->fencing_token : 0); },
        .on_error = [&](const absl::Status&) { run(0); }};
    std::optional<CallbackThread> callbacks(std::in_place);
    const auto watch =
        std::make_shared<LeaderWatch>(WatchPorts{daemons, clock, timers, jitter}, "report", options,
                                      [&](auto callback) { callbacks->Post(std::move(callback)); });
    watch->Start();
    // Of some rounds the first change, of others the pause after an error.
    for (int seen = told; seen < round % 10; seen = told) told.wait(seen);
    support::SpinFor(std::chrono::microseconds(round));

    std::jthread closing([&] { watch->Close(); });
    watch->Close();
    callbacks.reset();
    closed = true;
    watch->WaitUntilGone();
  }
}

}  // namespace
}  // namespace lockkeeper::client
