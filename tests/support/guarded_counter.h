// SPDX-License-Identifier: Apache-2.0
//
// A counter in a file that several processes raise, each by a read and a write. It checks fencing
// tokens on both: it rejects a token below the highest it has seen. So no accepted raise is lost,
// even if two processes believe that they hold the lock.
#pragma once

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace lockkeeper::support {

// Thread-safety: one object for each thread. A killed process leaves the file consistent.
class GuardedCounter {
 public:
  // Opens the counter, or makes it at 0.
  explicit GuardedCounter(const std::string& file)
      : file_(open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) throw std::runtime_error("cannot open " + file);
  }
  ~GuardedCounter() { close(file_); }
  GuardedCounter(const GuardedCounter&) = delete;
  GuardedCounter& operator=(const GuardedCounter&) = delete;

  struct State {
    int64_t highest_token = 0;
    int64_t value = 0;
    int64_t raises = 0;  // Accepted raises: equal to the value, unless one was lost.
  };

  State Look() const {
    State state;
    [[maybe_unused]] const ssize_t n = pread(file_, &state, sizeof(state), 0);
    return state;
  }

  // The value, if the token is admitted.
  std::optional<int64_t> Read(int64_t token) {
    const Turn turn(file_);
    State state = Look();
    if (token < state.highest_token) return std::nullopt;
    state.highest_token = token;
    Store(state);
    return state.value;
  }

  // Whether the token was admitted, and the value is set.
  bool Write(int64_t token, int64_t value) {
    const Turn turn(file_);
    State state = Look();
    if (token < state.highest_token) return false;
    Store({.highest_token = token, .value = value, .raises = state.raises + 1});
    return true;
  }

 private:
  // Locks the file. The kernel releases the lock with the process.
  class Turn {
   public:
    explicit Turn(int file) : file_(file) { flock(file_, LOCK_EX); }
    ~Turn() { flock(file_, LOCK_UN); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    int file_;
  };

  void Store(const State& state) {
    [[maybe_unused]] const ssize_t n = pwrite(file_, &state, sizeof(state), 0);
  }

  const int file_;
};

}  // namespace lockkeeper::support
