// SPDX-License-Identifier: Apache-2.0
//
// A queue of values from another thread to the test.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace lockkeeper::support {

// Thread-safety: thread-safe.
template <typename T>
class Mailbox {
 public:
  void Put(T value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    changed_.notify_all();
  }

  // The next value; nothing if none arrived in time.
  std::optional<T> Take() {
    constexpr std::chrono::seconds kPatience{20};
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, kPatience, [this] { return !values_.empty(); })) return {};
    T value = std::move(values_.front());
    values_.erase(values_.begin());
    return value;
  }

  bool Empty() {
    const std::lock_guard lock(mutex_);
    return values_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<T> values_;
};

}  // namespace lockkeeper::support
