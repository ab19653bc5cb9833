// SPDX-License-Identifier: Apache-2.0
#include "support/clock/server_clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace lockkeeper::support {
namespace {

[[noreturn]] void Fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace

ServerClock::ServerClock() : file_(directory_.Path("clock")) {
  const int file = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) Fail("clock file");
  if (ftruncate(file, sizeof(ClockControl)) != 0) Fail("clock file");
  void* memory = mmap(nullptr, sizeof(ClockControl), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) Fail("clock file");
  control_ = new (memory) ClockControl{};
}

ServerClock::~ServerClock() { munmap(control_, sizeof(ClockControl)); }

std::vector<std::pair<std::string, std::string>> ServerClock::environment() const {
  return {{"LD_PRELOAD", LOCKKEEPER_CLOCK_SHIM}, {kClockFileVariable, file_}};
}

void ServerClock::StepBy(core::Micros step) {
  if (control_->stands_at_us != 0) {
    control_->stands_at_us += step.count();
  } else {
    control_->offset_us += step.count();
  }
}

}  // namespace lockkeeper::support
