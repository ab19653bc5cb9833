// SPDX-License-Identifier: Apache-2.0
#include "transport/blocking_operation.h"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace lockkeeper::client {
namespace {

// The answer of one operation, for the thread that waits for it.
class AnswerSlot {
 public:
  void Put(OperationAnswer answer) {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
    came_.notify_one();
  }

  OperationAnswer Take() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return answer_.has_value(); });
    return *std::move(answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::optional<OperationAnswer> answer_;
};

}  // namespace

bool PauseFor(Duration delay, const std::stop_token& cancel) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, cancel, delay, [] { return false; });
  return !cancel.stop_requested();
}

OperationAnswer RunOnce(const CallPorts& ports, size_t daemon, v1::SessionOperation request,
                        Duration timeout, const std::stop_token& cancel) {
  const auto slot = std::make_shared<AnswerSlot>();
  const auto operation = std::make_shared<PendingOperation>();
  operation->request = std::move(request);
  operation->deadline = ports.clock.Now() + timeout;
  operation->done = [slot](OperationAnswer answer) { slot->Put(std::move(answer)); };
  Transport& way = ports.daemons[daemon];
  way.Run(operation);
  const std::stop_callback on_stop(cancel, [&] { way.Cancel(operation); });
  return slot->Take();
}

AnsweredRequest RunUntilAnswered(const CallPorts& ports, Duration timeout,
                                 const v1::SessionOperation& request) {
  RetryRule rule(ports.clock.Now() + timeout, static_cast<int>(ports.daemons.size()), ports.jitter);
  while (true) {
    const size_t daemon = ports.daemons.current();
    const Instant began = ports.clock.Now();
    OperationAnswer answer = RunOnce(ports, daemon, request, rule.TryTimeout(began), {});
    const std::optional<Duration> delay =
        rule.DelayAfter(answer.status(), began, ports.clock.Now());
    if (!delay && !answer.ok()) answer = rule.Explain(answer.status());
    if (!delay) return {std::move(answer), began};
    ports.daemons.Failed(daemon, answer.status());
    PauseFor(*delay, {});
  }
}

}  // namespace lockkeeper::client
