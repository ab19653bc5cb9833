// SPDX-License-Identifier: Apache-2.0
//
// A file descriptor with one owner, which closes it.
#pragma once

namespace lockkeeper::os {

// Thread-safety: thread-compatible.
class Descriptor {
 public:
  Descriptor() = default;
  // Takes over `number`; a negative one is none, as system calls that fail answer it.
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(other.Release()) {}
  // Closes what this object had before.
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }

  // Hands the descriptor over to the caller.
  int Release();

 private:
  int number_ = -1;
};

}  // namespace lockkeeper::os
