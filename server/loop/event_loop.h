// SPDX-License-Identifier: Apache-2.0
//
// The loop: a thread with a libuv loop. It runs posted tasks and the callbacks of its sockets and
// timers, in turns.
//
// One turn runs the sockets that are ready, the timers that are due, all tasks posted so far, and
// then the end-of-turn tasks; then the loop sleeps. So the operations of many callers that arrive
// together leave as one pipeline. A task posted during a turn runs in the next one.
#pragma once

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/executor.h"
#include "core/types.h"

struct uv_loop_s;  // NOLINT(readability-identifier-naming): libuv's name

namespace lockkeeper::loop {

class EventLoop final : public core::Executor, public core::Clock {
 public:
  // Starts the thread; `name` (cut to 15 bytes) is what `top -H` shows. The thread blocks all
  // signals. Aborts the process if it cannot get a thread or descriptors.
  explicit EventLoop(const std::string& name);
  ~EventLoop() override;  // Stop().
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // CLOCK_BOOTTIME; its epoch is the machine's boot. Thread-safety: thread-safe.
  core::Instant Now() const override;

  void Post(core::Task task) override;

  // Never early. Late by the work at hand and the delay of the kernel's timers (tens of
  // microseconds). The task may destroy the handle.
  [[nodiscard]] std::unique_ptr<core::Timer> After(core::Micros delay, core::Task task) override;

  // Tasks that end-of-turn tasks add run in the same turn.
  void AtEndOfTurn(core::Task task) override;

  // Runs `task` on the loop's thread and waits for it, to build and destroy objects that live
  // there. Thread-safety: thread-safe, but not from the loop's own thread.
  void RunAndWait(core::Task task);

  // Runs the posted tasks, and those that they post, then ends the thread. Tasks posted later are
  // destroyed without running. Requires: the watchers and connectors of this loop are gone.
  // Thread-safety: thread-safe, but not from the loop's own thread.
  void Stop();

  bool IsLoopThread() const;

  // For the sockets of this folder. Thread-safety: loop-thread only.
  uv_loop_s* uv();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lockkeeper::loop
