// SPDX-License-Identifier: Apache-2.0
//
// One thread of another process that is stopped, while the others go on.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace lockkeeper::support {

// Stops a thread of a child process, until this object is gone. Destroy it on the thread that made
// it.
class StoppedThread {
 public:
  explicit StoppedThread(pid_t thread);
  ~StoppedThread();
  StoppedThread(const StoppedThread&) = delete;
  StoppedThread& operator=(const StoppedThread&) = delete;

  // False where ptrace is not allowed; errno says why.
  bool is_stopped() const { return is_stopped_; }

 private:
  const pid_t thread_;
  bool is_traced_ = false;
  bool is_stopped_ = false;
};

std::optional<pid_t> ThreadCalled(const std::string& name, pid_t process);

}  // namespace lockkeeper::support
