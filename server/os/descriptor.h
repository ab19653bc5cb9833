// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor with one owner, which closes it.
#pragma once

namespace lockkeeper::os {

// Thread-safety: thread-compatible.
class Descriptor {
 public:
  Descriptor() = default;
  // Takes ownership of `number`. A negative number, the result of a failed system call, is no
  // descriptor.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  // Closes the descriptor that this object had.
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

  // Passes ownership to the caller.
  int Release();

 private:
  int number_ = -1;
};

}  // namespace lockkeeper::os
