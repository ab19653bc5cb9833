// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a process, gives it the wall clock that a test wants, changed while it runs, and
// lets CLOCK_BOOTTIME tell that the machine has slept. CLOCK_MONOTONIC and timers stay as they are.
// It is linked with nothing, so that it can be preloaded into any program.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "support/clock/clock_control.h"

namespace {

using lockkeeper::support::ClockControl;

constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;

const ClockControl* control = nullptr;

__attribute__((constructor)) void MapControl() {
  const char* path = std::getenv(lockkeeper::support::kClockFileVariable);
  if (path == nullptr) return;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* memory = mmap(nullptr, sizeof(ClockControl), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (memory != MAP_FAILED) control = static_cast<const ClockControl*>(memory);
}

// The machine's clock, or the one that was asked for, in nanoseconds of which the last three
// digits are always the machine's.
timespec Now(clockid_t clock) {
  timespec now{};
  syscall(SYS_clock_gettime, clock, &now);
  if (control == nullptr) return now;
  const int64_t stands_at = control->stands_at_us.load(std::memory_order_acquire);
  const int64_t micros = stands_at != 0 ? stands_at
                                        : now.tv_sec * kMicrosPerSecond + now.tv_nsec / 1000 +
                                              control->offset_us.load(std::memory_order_acquire);
  now.tv_sec = micros / kMicrosPerSecond;
  now.tv_nsec = micros % kMicrosPerSecond * 1000 + now.tv_nsec % 1000;
  return now;
}

void AddSleep(timespec& boot_time) {
  if (control == nullptr) return;
  const int64_t slept = control->slept_us.load(std::memory_order_acquire);
  const int64_t nanos = boot_time.tv_nsec + slept % kMicrosPerSecond * 1000;
  boot_time.tv_sec += slept / kMicrosPerSecond + nanos / kNanosPerSecond;
  boot_time.tv_nsec = nanos % kNanosPerSecond;
}

}  // namespace

extern "C" {

int gettimeofday(timeval* __restrict time, void* __restrict /*zone*/) noexcept {
  const timespec now = Now(CLOCK_REALTIME);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) {
    const auto status = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
    if (status == 0 && clock == CLOCK_BOOTTIME) AddSleep(*time);
    return status;
  }
  *time = Now(clock);
  return 0;
}

time_t time(time_t* seconds) noexcept {
  const timespec now = Now(CLOCK_REALTIME);
  if (seconds != nullptr) *seconds = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
