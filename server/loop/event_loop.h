// SPDX-License-Identifier: Apache-2.0
//
// The loop: a thread with a libuv loop that runs what is posted, what its sockets and timers bring,
// and, when all of that is done, what was put off to the end of the turn.
//
// One turn = the sockets that were ready, the timers that were due, everything posted so far, then
// the end-of-turn tasks; then the loop sleeps. So the operations of many callers that arrive
// together leave as one pipeline. Posts that come while a turn runs make the next one.
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
  // Starts the thread; `name` (cut to 15 bytes) is what `top -H` shows. The thread takes no
  // signals. A process that can have no thread or descriptors at its start is aborted.
  explicit EventLoop(const std::string& name);
  ~EventLoop() override;  // Stop().
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // CLOCK_BOOTTIME; its epoch is the machine's boot. Thread-safety: thread-safe.
  core::Instant Now() const override;

  void Post(core::Task task) override;

  // Never early, and late by what the kernel's timers are (tens of microseconds) besides the work
  // at hand. The handle may be destroyed by the task itself.
  [[nodiscard]] std::unique_ptr<core::Timer> After(core::Micros delay, core::Task task) override;

  // Tasks that end-of-turn tasks add run in the same turn.
  void AtEndOfTurn(core::Task task) override;

  // Runs `task` on the loop's thread and waits for it: for building up and taking down what lives
  // there. Thread-safety: thread-safe, but not from the loop's own thread.
  void RunAndWait(core::Task task);

  // Runs what was posted, and what that posts, then ends the thread. Tasks posted later are
  // destroyed without having run.
  // Requires: the watchers and connectors of this loop are gone.
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
