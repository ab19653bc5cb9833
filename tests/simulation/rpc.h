// SPDX-License-Identifier: Apache-2.0
//
// The network between clients and daemons: calls with deadlines, and messages that are late, lost
// or duplicated.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/errors.h"
#include "simulation/daemon.h"
#include "simulation/judge.h"
#include "simulation/message_order.h"
#include "support/manual_executor.h"
#include "support/random.h"

namespace lockkeeper::simulation {

class Rpc {
 public:
  Rpc(const core::Clock& clock, support::ManualExecutor& executor, Judge& judge,
      MessageOrder& order, support::Random random)
      : clock_(clock), executor_(executor), judge_(judge), order_(order), random_(random) {}

  // The daemon that now runs at `index`; null while none does.
  void SetDaemon(size_t index, Daemon* daemon);
  size_t daemons() const { return daemons_.size(); }
  Daemon* DaemonAt(size_t index) { return daemons_[index]; }

  // The delay of a message on a stream, where lost messages are sent again.
  core::Micros StreamDelay() { return Delay() + (Lost() ? kResendDelay : core::Micros(0)); }

  // Sends a call from `client` to the daemon at `index`. `done` runs exactly once, on the client,
  // after `timeout` at the latest, unless the client is dead. Returns a handle to cancel the call.
  template <typename T>
  CallPtr Send(Process& client, size_t index, core::Micros timeout,
               std::function<void(Daemon&, const CallPtr&, Reply<T>)> start, Reply<T> done);

  // The caller no longer waits: `done` of the call does not run.
  void Cancel(size_t index, const CallPtr& call);

  // The daemon at `index` was killed: all its open calls fail.
  void FailCallsOf(size_t index);

  // Runs `task` even if all processes are paused or dead.
  void AfterWorldTime(core::Micros delay, core::Task task) {
    executor_.Later(delay, std::move(task));
  }

  void SlowDown(core::Micros most, core::Micros duration);
  void Lose(core::Micros duration) { lossy_until_ = clock_.Now() + duration; }
  void Duplicate(core::Micros duration) { duplicates_until_ = clock_.Now() + duration; }

 private:
  static constexpr core::Micros kResendDelay{200'000};

  struct Open {
    std::function<void()> fail;
  };

  core::Micros Delay();
  bool Lost() { return clock_.Now() < lossy_until_ && random_.OneIn(4); }
  CallPtr NewCall();

  const core::Clock& clock_;
  support::ManualExecutor& executor_;
  Judge& judge_;
  MessageOrder& order_;
  support::Random random_;
  std::vector<Daemon*> daemons_;
  std::vector<std::map<uint64_t, Open>> open_;  // By daemon and call.
  uint64_t next_call_ = 1;
  core::Instant slow_until_;
  core::Micros slow_most_{};
  core::Instant lossy_until_;
  core::Instant duplicates_until_;
};

template <typename T>
CallPtr Rpc::Send(Process& client, size_t index, core::Micros timeout,
                  std::function<void(Daemon&, const CallPtr&, Reply<T>)> start, Reply<T> done) {
  struct State {
    bool finished = false;
    Reply<T> done;
  };
  auto state = std::make_shared<State>(State{false, std::move(done)});
  const auto finish = [state, &client](absl::StatusOr<T> answer) {
    client.Post([state, answer = std::move(answer)]() mutable {
      if (std::exchange(state->finished, true)) return;
      state->done(std::move(answer));
    });
  };
  const auto unavailable = [](const char* why) {
    return core::Error(core::ErrorReason::kOutcomeUnknown, why);
  };
  const CallPtr call = NewCall();
  const bool twice = clock_.Now() < duplicates_until_ && random_.OneIn(4);
  for (int copy = 0; copy < (twice ? 2 : 1); ++copy) {
    const CallPtr sent = copy == 0 ? call : NewCall();
    if (Lost()) {
      judge_.CallGone(sent->id);
      continue;
    }
    executor_.Later(Delay(), [this, index, sent, start, finish, unavailable] {
      Daemon* daemon = daemons_[index];
      if (daemon == nullptr) {
        judge_.CallGone(sent->id);
        executor_.Later(Delay(), [finish, unavailable] { finish(unavailable("no daemon there")); });
        return;
      }
      open_[index][sent->id] = {[finish, unavailable] { finish(unavailable("daemon gone")); }};
      start(*daemon, sent, [this, index, sent, finish](absl::StatusOr<T> answer) {
        judge_.CallAnswered(sent->id);
        open_[index].erase(sent->id);
        if (Lost()) return;
        executor_.Later(
            Delay(), [finish, answer = std::move(answer)]() mutable { finish(std::move(answer)); });
      });
    });
  }
  executor_.Later(timeout, [this, index, call, state, finish, unavailable] {
    if (state->finished) return;
    Cancel(index, call);
    finish(unavailable("deadline"));
  });
  return call;
}

}  // namespace lockkeeper::simulation
