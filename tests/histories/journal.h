// SPDX-License-Identifier: Apache-2.0
//
// Writes a history: one JSON object for the beginning of each operation and one for its end. What
// is written stays when the process is killed. README.md names the fields.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

namespace lockkeeper::histories {

// What is asked.
struct Asked {
  std::string kind;  // acquire, extend, release, fence
  std::string lock;
  std::string lease;  // Lease id; empty for a fence.
  int attempt = 0;
  int64_t token = 0;  // Fence: the token in question.
  bool live = false;  // Fence: its lease has to be live.
  bool session = false;
};

// What is answered.
struct Answered {
  std::string outcome;  // ok, fail, unknown
  std::string reason;
  int64_t token = 0;
  int64_t left_us = 0;
  std::string holder;
  bool offered = false;
};

// Errors: throws std::system_error if it cannot be written. Thread-safety: thread-safe.
class Journal {
 public:
  // Appends to `path`.
  explicit Journal(const std::string& path);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  // Before the operation is sent. Answers its number.
  int Begin(const std::string& client, const Asked& asked);
  // After it was answered, or given up.
  void End(const std::string& client, int operation, const Answered& answered);
  // `forgets`: the store may forget what it has confirmed.
  void Fault(const std::string& text, bool forgets);

 private:
  void Write(const std::string& line);

  const int file_;
  std::mutex mutex_;
  int operations_ = 0;  // Guarded by mutex_.
};

}  // namespace lockkeeper::histories
