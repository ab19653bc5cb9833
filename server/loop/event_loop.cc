// SPDX-License-Identifier: Apache-2.0
#include "loop/event_loop.h"

#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <uv.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <future>
#include <latch>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "loop/timer_heap.h"
#include "os/boot_clock.h"

namespace lockkeeper::loop {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr size_t kThreadNameMax = 15;

// Aborts if a healthy process would never fail here, since nobody could handle the error.
void Require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "lockkeeper event loop: %s (errno %d)\n", what, errno);
  std::abort();
}

}  // namespace

struct EventLoop::Impl {
  explicit Impl(const std::string& name);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Run(const std::string& name);
  void BeforeSleep();
  void RunPosted();
  void RunEndOfTurn();
  void ArmTimer();
  void OnTimer();
  void Finish();

  uv_loop_t loop{};
  uv_async_t wake_up{};
  uv_prepare_t before_sleep{};
  uv_poll_t timer_poll{};
  int timer_descriptor = -1;

  std::mutex mutex;
  std::vector<core::Task> posted;  // Guarded by mutex, as the two below.
  bool stopping = false;
  bool stopped = false;

  // Only the loop's thread uses the rest.
  std::vector<core::Task> running;
  std::deque<core::Task> end_of_turn;
  TimerHeap timers;
  std::optional<core::Instant> armed_for;

  std::latch thread_is_known{1};
  std::once_flag joined;
  std::thread thread;
  std::thread::id thread_id;
};

EventLoop::Impl::Impl(const std::string& name) {
  timer_descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
  Require(timer_descriptor >= 0, "timerfd_create");
  Require(uv_loop_init(&loop) == 0, "uv_loop_init");
  loop.data = this;
  // The wake-up only ends the sleep; posted tasks run before the next sleep.
  Require(uv_async_init(&loop, &wake_up, [](uv_async_t*) {}) == 0, "uv_async_init");
  Require(uv_prepare_init(&loop, &before_sleep) == 0, "uv_prepare_init");
  Require(uv_poll_init(&loop, &timer_poll, timer_descriptor) == 0, "uv_poll_init");
  uv_prepare_start(&before_sleep, [](uv_prepare_t* handle) {
    static_cast<Impl*>(handle->loop->data)->BeforeSleep();
  });
  uv_poll_start(&timer_poll, UV_READABLE, [](uv_poll_t* handle, int, int) {
    static_cast<Impl*>(handle->loop->data)->OnTimer();
  });

  // Signals go to the daemon's main thread. Without SIGPIPE a write to a closed socket is only an
  // error.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this, name] { Run(name); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  thread_id = thread.get_id();
  thread_is_known.count_down();
}

EventLoop::Impl::~Impl() { close(timer_descriptor); }

void EventLoop::Impl::Run(const std::string& name) {
  thread_is_known.wait();
  pthread_setname_np(pthread_self(), name.substr(0, kThreadNameMax).c_str());
  uv_run(&loop, UV_RUN_DEFAULT);  // Until Finish().
  uv_run(&loop, UV_RUN_DEFAULT);  // The closing callbacks.
  Require(uv_loop_close(&loop) == 0, "stopped while its sockets were still watched");
}

void EventLoop::Impl::BeforeSleep() {
  RunPosted();
  RunEndOfTurn();
  ArmTimer();
  bool finish = false;
  {
    const std::lock_guard lock(mutex);
    finish = stopping && posted.empty();
    stopped = finish;
    // The loop's own thread does not wake itself when it posts, see Post().
    if (!posted.empty()) uv_async_send(&wake_up);
  }
  if (finish) Finish();
}

void EventLoop::Impl::RunPosted() {
  {
    const std::lock_guard lock(mutex);
    std::swap(running, posted);
  }
  for (core::Task& slot : running) {
    core::Task task = std::move(slot);
    std::move(task)();
  }
  running.clear();
}

void EventLoop::Impl::RunEndOfTurn() {
  while (!end_of_turn.empty()) {
    core::Task task = std::move(end_of_turn.front());
    end_of_turn.pop_front();
    std::move(task)();
  }
}

// Sets the kernel's timer only if it would fire too late. Most deadlines are cancelled; so they
// cost a system call only when the kernel's timer fires, and not whenever they change.
void EventLoop::Impl::ArmTimer() {
  const std::optional<core::Instant> due = timers.NextDue();
  if (!due || (armed_for && *armed_for <= *due)) return;
  const int64_t nanos = std::max<int64_t>(
      1, std::chrono::duration_cast<std::chrono::nanoseconds>(due->time_since_epoch()).count());
  itimerspec when{};
  when.it_value = {nanos / kNanosPerSecond, nanos % kNanosPerSecond};
  Require(timerfd_settime(timer_descriptor, TFD_TIMER_ABSTIME, &when, nullptr) == 0,
          "timerfd_settime");
  armed_for = due;
}

void EventLoop::Impl::OnTimer() {
  uint64_t fired = 0;
  if (read(timer_descriptor, &fired, sizeof fired) < 0) return;  // It was armed again meanwhile.
  armed_for.reset();
  timers.RunDue(core::Instant(os::BootTime()));
}

void EventLoop::Impl::Finish() {
  uv_close(reinterpret_cast<uv_handle_t*>(&wake_up), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&before_sleep), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer_poll), nullptr);
  uv_stop(&loop);
}

EventLoop::EventLoop(const std::string& name) : impl_(std::make_unique<Impl>(name)) {}

EventLoop::~EventLoop() { Stop(); }

core::Instant EventLoop::Now() const { return core::Instant(os::BootTime()); }

void EventLoop::Post(core::Task task) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->stopped) return;
  const bool first = impl_->posted.empty();
  impl_->posted.push_back(std::move(task));
  if (first && !IsLoopThread()) uv_async_send(&impl_->wake_up);
}

std::unique_ptr<core::Timer> EventLoop::After(core::Micros delay, core::Task task) {
  return impl_->timers.Add(Now() + std::max(delay, core::Micros(0)), std::move(task));
}

void EventLoop::AtEndOfTurn(core::Task task) { impl_->end_of_turn.push_back(std::move(task)); }

void EventLoop::RunAndWait(core::Task task) {
  std::promise<void> ran;
  std::future<void> wait = ran.get_future();
  Post([&task, promise = std::move(ran)]() mutable {
    std::move(task)();
    promise.set_value();
  });
  wait.wait();
}

void EventLoop::Stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    if (!impl_->stopped) uv_async_send(&impl_->wake_up);
  }
  std::call_once(impl_->joined, [this] { impl_->thread.join(); });
}

bool EventLoop::IsLoopThread() const { return std::this_thread::get_id() == impl_->thread_id; }

uv_loop_s* EventLoop::uv() { return &impl_->loop; }

}  // namespace lockkeeper::loop
