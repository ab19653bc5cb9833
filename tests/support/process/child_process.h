// SPDX-License-Identifier: Apache-2.0
//
// A child process that lives as long as this object. It is started without a shell, and ends with
// the test even if the test crashes. Every wait for it has a limit.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lockkeeper::support {

struct ChildProcessOptions {
  std::vector<std::string> command;  // Program (looked up in PATH) and arguments.
  std::string output_file;           // Gets stdout and stderr, appended. Empty: /dev/null.
  std::string error_file;            // Gets stderr instead, appended. Empty: `output_file` does.
  std::string working_directory;     // Empty: that of the test.
  std::vector<std::pair<std::string, std::string>> environment;  // Set besides the test's own.
};

// How a process ended.
struct ProcessEnd {
  std::optional<int> exit_code;  // Nothing if it died by a signal.
  int signal = 0;                // 0 unless it died by a signal.
};

// Lifetime: the kernel kills the process when the thread that started it ends; start it on the
// test's main thread, or on one that lives as long.
// Errors: throws std::runtime_error, which fails the test with its text.
// Thread-safety: not thread-safe.
class ChildProcess {
 public:
  explicit ChildProcess(const ChildProcessOptions& options);
  ~ChildProcess();  // SIGKILL, and waits.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Sends a signal. Does nothing once the process has ended.
  void Signal(int signal);

  // Sends SIGSTOP and waits until the process stands still.
  void Pause();
  void Resume() { Signal(kContinue); }

  // Waits until the process has ended, at most `limit`. Nothing if it still runs.
  std::optional<ProcessEnd> WaitForEnd(std::chrono::milliseconds limit);

  // SIGKILL, and waits.
  void Kill();

 private:
  static const int kContinue;

  pid_t pid_ = -1;
  int pid_descriptor_ = -1;
  std::optional<ProcessEnd> end_;
};

}  // namespace lockkeeper::support
