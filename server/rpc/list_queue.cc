// SPDX-License-Identifier: Apache-2.0
#include "rpc/list_queue.h"

#include <pthread.h>

#include <utility>

#include "core/limits.h"

namespace lockkeeper::rpc {

ListQueue::ListQueue() : thread_([this] { Run(); }) {}

ListQueue::~ListQueue() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ListQueue::Enter(List& list) {
  {
    const std::lock_guard lock(mutex_);
    if (open_.size() >= core::limits::kListsMax) {
      List& oldest = *open_.front();
      open_.pop_front();
      oldest.Cancel();
    }
    open_.push_back(&list);
    waiting_.push_back(&list);
  }
  changed_.notify_one();
}

bool ListQueue::Withdraw(const List& list) {
  const std::lock_guard lock(mutex_);
  return std::erase(waiting_, &list) > 0;
}

void ListQueue::Answer(core::Task answer) {
  {
    const std::lock_guard lock(mutex_);
    answer_ = std::move(answer);
  }
  changed_.notify_one();
}

void ListQueue::Leave(const List& list) {
  const std::lock_guard lock(mutex_);
  std::erase(open_, &list);
}

void ListQueue::Run() {
  pthread_setname_np(pthread_self(), "lists");
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    List& next = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    const bool begun = next.Begin();
    lock.lock();
    if (!begun) continue;
    changed_.wait(lock, [this] { return answer_ != nullptr; });
    core::Task answer = std::exchange(answer_, nullptr);
    lock.unlock();
    std::move(answer)();
    lock.lock();
  }
}

}  // namespace lockkeeper::rpc
