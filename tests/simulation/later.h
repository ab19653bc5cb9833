// SPDX-License-Identifier: Apache-2.0
//
// Timers that nobody cancels one by one: they run, or end with this object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/executor.h"

namespace lockkeeper::simulation {

class Later {
 public:
  explicit Later(core::Executor& executor) : executor_(executor) {}

  void In(core::Micros delay, core::Task task) {
    const uint64_t id = next_++;
    timers_[id] = executor_.After(std::max(delay, core::Micros(0)),
                                  [this, id, task = std::move(task)]() mutable {
                                    const auto timer = timers_.extract(id);
                                    std::move(task)();
                                  });
  }

 private:
  core::Executor& executor_;
  uint64_t next_ = 0;
  std::unordered_map<uint64_t, std::unique_ptr<core::Timer>> timers_;
};

}  // namespace lockkeeper::simulation
