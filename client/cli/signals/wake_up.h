// SPDX-License-Identifier: Apache-2.0
//
// Lets other threads wake a poll().
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "os/descriptor.h"

namespace lockkeeper::cli {

// Thread-safety: thread-safe.
class WakeUp {
 public:
  WakeUp() : descriptor_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (!descriptor_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  int descriptor() const { return descriptor_.get(); }

  // Makes the descriptor readable.
  void Notify() const { Write(1); }

  // Makes it unreadable again.
  void Clear() const {
    uint64_t count = 0;
    while (read(descriptor_.get(), &count, sizeof(count)) > 0) {
    }
  }

 private:
  void Write(uint64_t count) const {
    while (write(descriptor_.get(), &count, sizeof(count)) < 0 && errno == EINTR) {
    }
  }

  const os::Descriptor descriptor_;
};

}  // namespace lockkeeper::cli
