// SPDX-License-Identifier: Apache-2.0
#include "support/manual_executor.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace lockkeeper::support {
namespace {

constexpr int kTurnsMax = 1'000'000;

}  // namespace

class ManualExecutor::PendingTimer final : public core::Timer {
 public:
  PendingTimer(std::weak_ptr<Timers> timers, TimerKey key)
      : timers_(std::move(timers)), key_(key) {}
  ~PendingTimer() override {
    if (const auto timers = timers_.lock()) timers->erase(key_);
  }

 private:
  std::weak_ptr<Timers> timers_;
  TimerKey key_;
};

ManualExecutor::ManualExecutor(ManualClock& clock)
    : clock_(clock), timers_(std::make_shared<Timers>()) {}

ManualExecutor::~ManualExecutor() = default;

void ManualExecutor::Post(core::Task task) { posted_.push_back(std::move(task)); }

std::unique_ptr<core::Timer> ManualExecutor::After(core::Micros delay, core::Task task) {
  return std::make_unique<PendingTimer>(timers_, Start(delay, std::move(task)));
}

void ManualExecutor::Later(core::Micros delay, core::Task task) { Start(delay, std::move(task)); }

ManualExecutor::TimerKey ManualExecutor::Start(core::Micros delay, core::Task task) {
  const TimerKey key{clock_.Now() + std::max(delay, core::Micros(0)), next_timer_++};
  timers_->emplace(key, std::move(task));
  return key;
}

void ManualExecutor::AtEndOfTurn(core::Task task) { end_of_turn_.push_back(std::move(task)); }

bool ManualExecutor::HasReadyWork() const {
  return !posted_.empty() || !end_of_turn_.empty() ||
         (!timers_->empty() && timers_->begin()->first.first <= clock_.Now());
}

void ManualExecutor::RunDueTimers() {
  // Timers that start in this turn wait for the next one, even if they are due at once.
  const uint64_t started_before = next_timer_;
  for (auto next = timers_->begin(); next != timers_->end() && next->first.first <= clock_.Now();) {
    if (next->first.second >= started_before) {
      ++next;
      continue;
    }
    core::Task task = std::move(next->second);
    timers_->erase(next);
    std::move(task)();
    next = timers_->begin();
  }
}

void ManualExecutor::RunAll(std::vector<core::Task>& tasks, std::vector<core::Task>& running) {
  running.swap(tasks);
  for (core::Task& task : running) std::move(task)();
  running.clear();
}

bool ManualExecutor::RunTurn() {
  if (!HasReadyWork()) return false;
  RunDueTimers();
  RunAll(posted_, running_);
  while (!end_of_turn_.empty()) RunAll(end_of_turn_, running_);
  return true;
}

void ManualExecutor::RunUntilIdle() {
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    if (!RunTurn()) return;
  }
  ADD_FAILURE() << "still busy after " << kTurnsMax << " turns without time passing";
}

void ManualExecutor::AdvanceBy(core::Micros duration) {
  const core::Instant end = clock_.Now() + duration;
  RunUntilIdle();
  while (!timers_->empty() && timers_->begin()->first.first <= end) {
    clock_.AdvanceTo(timers_->begin()->first.first);
    RunUntilIdle();
  }
  clock_.AdvanceTo(end);
}

bool ManualExecutor::AdvanceUntil(absl::FunctionRef<bool()> condition, core::Micros limit) {
  const core::Instant end = clock_.Now() + limit;
  for (int turn = 0; turn < kTurnsMax && !condition(); ++turn) {
    if (RunTurn()) continue;
    if (timers_->empty() || timers_->begin()->first.first > end) {
      clock_.AdvanceTo(end);
      return false;
    }
    clock_.AdvanceTo(timers_->begin()->first.first);
  }
  return condition();
}

std::optional<core::Instant> ManualExecutor::NextTimer() const {
  if (timers_->empty()) return std::nullopt;
  return timers_->begin()->first.first;
}

}  // namespace lockkeeper::support
