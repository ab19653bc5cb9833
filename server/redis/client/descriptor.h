// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace lockkeeper::redis {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

  // Hands the descriptor over to the caller.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_ = -1;
};

}  // namespace lockkeeper::redis
