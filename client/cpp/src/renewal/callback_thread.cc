// SPDX-License-Identifier: Apache-2.0
#include "renewal/callback_thread.h"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace lockkeeper::client {

struct CallbackThread::Queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<absl::AnyInvocable<void() &&>> callbacks;
  std::thread::id thread;  // Of the started thread.
  bool started = false;
  bool ending = false;
};

CallbackThread::CallbackThread() : queue_(std::make_shared<Queue>()) {}

CallbackThread::~CallbackThread() {
  {
    const std::lock_guard lock(queue_->mutex);
    queue_->ending = true;
    queue_->changed.notify_one();
  }
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void CallbackThread::Post(absl::AnyInvocable<void() &&> callback) {
  const std::lock_guard lock(queue_->mutex);
  queue_->callbacks.push_back(std::move(callback));
  queue_->changed.notify_one();
  if (std::exchange(queue_->started, true)) return;
  thread_ = std::thread(Run, queue_);
  queue_->thread = thread_.get_id();
}

bool CallbackThread::IsCurrent() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->started && queue_->thread == std::this_thread::get_id();
}

void CallbackThread::Run(const std::shared_ptr<Queue>& queue) {
  std::unique_lock lock(queue->mutex);
  while (true) {
    queue->changed.wait(lock, [&] { return queue->ending || !queue->callbacks.empty(); });
    if (queue->callbacks.empty()) return;
    absl::AnyInvocable<void() &&> callback = std::move(queue->callbacks.front());
    queue->callbacks.pop_front();
    lock.unlock();
    std::move(callback)();
    callback = nullptr;  // Destroys its captures on this thread, without our mutex.
    lock.lock();
  }
}

}  // namespace lockkeeper::client
