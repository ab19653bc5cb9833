// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop_watch.h"

#include <pthread.h>

#include <utility>

#include "core/types.h"

namespace lockkeeper::daemon {
namespace {

constexpr core::Millis kInterval{500};
// Looks in a row that find no turn. Not time: a machine that was suspended has missed no look.
constexpr int kLooksMax = 10;

}  // namespace

LoopWatch::LoopWatch(telemetry::HealthBoard& health)
    : health_(health), thread_([this] { Run(); }) {}

LoopWatch::~LoopWatch() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void LoopWatch::Run() {
  pthread_setname_np(pthread_self(), "loop watch");
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stop_; })) {
    lock.unlock();
    Look();
    lock.lock();
  }
}

void LoopWatch::Look() {
  const uint64_t turns = turns_.load(std::memory_order_relaxed);
  const bool was_stuck = looks_ >= kLooksMax;
  looks_ = std::exchange(seen_, turns) == turns ? looks_ + 1 : 0;
  const bool is_stuck = looks_ >= kLooksMax;
  if (is_stuck != was_stuck) health_.ReportLoop(/*turns=*/!is_stuck);
}

}  // namespace lockkeeper::daemon
