// SPDX-License-Identifier: Apache-2.0
//
// A socket with one owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace lockkeeper::http {

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() {
    if (fd_ >= 0) close(fd_);
  }
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  int fd() const { return fd_; }

 private:
  int fd_;
};

}  // namespace lockkeeper::http
