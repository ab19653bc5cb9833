// SPDX-License-Identifier: Apache-2.0
#include "renewal/timer_thread.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <vector>

#include "renewal/boot_clock.h"

namespace lockkeeper::client {
namespace {

int Checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return fd;
}

void Drain(int fd) {
  uint64_t count = 0;
  while (read(fd, &count, sizeof(count)) > 0) {
  }
}

}  // namespace

TimerThread::TimerThread()
    : timer_fd_(Checked(timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC), "timerfd")),
      wake_fd_(Checked(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), "eventfd")),
      thread_([this] { Run(); }) {}

TimerThread::~TimerThread() {
  Stop();
  close(timer_fd_);
  close(wake_fd_);
}

void TimerThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  const uint64_t one = 1;
  while (write(wake_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
  if (thread_.joinable()) thread_.join();
  std::map<Key, absl::AnyInvocable<void() &&>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(timers_);
  due_.clear();
}

Scheduler::TimerId TimerThread::RunAt(Instant at, absl::AnyInvocable<void() &&> work) {
  const std::lock_guard lock(mutex_);
  if (stopped_) return kNoTimer;
  const TimerId id = ++last_id_;
  timers_.emplace(Key(at, id), std::move(work));
  due_.emplace(id, at);
  if (at < armed_) Arm();
  return id;
}

void TimerThread::Cancel(TimerId id) {
  absl::AnyInvocable<void() &&>
      dropped;  // Destroyed after the mutex is released: its captures are not ours.
  const std::lock_guard lock(mutex_);
  const auto due = due_.find(id);
  if (due == due_.end()) return;
  const auto timer = timers_.find(Key(due->second, id));
  dropped = std::move(timer->second);
  timers_.erase(timer);
  due_.erase(due);
}

void TimerThread::Arm() {
  armed_ = timers_.empty() ? Instant::max() : timers_.begin()->first.first;
  itimerspec spec{};
  if (!timers_.empty()) {
    // A time of zero would disarm the timer; a time in the past fires at once.
    const auto at = std::max(armed_.time_since_epoch(), Duration(1));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    spec.it_value.tv_sec = seconds.count();
    spec.it_value.tv_nsec = (at - seconds).count();
  }
  timerfd_settime(timer_fd_, TFD_TIMER_ABSTIME, &spec, nullptr);
}

void TimerThread::Run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // Signals are the program's, not ours.
  while (true) {
    std::array<pollfd, 2> fds{{{timer_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}}};
    if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
    Drain(timer_fd_);
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
    }
    RunDue();
  }
}

void TimerThread::RunDue() {
  const Instant now = BootClock().Now();
  std::vector<absl::AnyInvocable<void() &&>> work;
  {
    const std::lock_guard lock(mutex_);
    while (!timers_.empty() && timers_.begin()->first.first <= now) {
      due_.erase(timers_.begin()->first.second);
      work.push_back(std::move(timers_.begin()->second));
      timers_.erase(timers_.begin());
    }
    Arm();
  }
  for (auto& each : work) std::move(each)();
}

}  // namespace lockkeeper::client
