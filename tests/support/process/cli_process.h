// SPDX-License-Identifier: Apache-2.0
//
// The command `lockkeeper` as a process, with what it prints.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

struct CliResult {
  int exit_code = -1;  // -1: it died by a signal, or did not end in time.
  std::string out;
  std::string err;
};

// Thread-safety: not thread-safe. Lifetime: as ChildProcess.
class CliProcess {
 public:
  // Starts `program` with `arguments`; `server` is in its environment.
  CliProcess(const std::string& program, const std::string& server,
             const std::vector<std::string>& arguments);

  pid_t pid() const { return child_->pid(); }
  void Signal(int signal) { child_->Signal(signal); }
  void Pause() { child_->Pause(); }

  // What it has printed so far.
  std::string out() const;
  std::string err() const;

  // Waits until `text` is in what it has printed on stdout. False if that takes over half a minute.
  bool WaitForOutput(const std::string& text) const;

  // Waits for its end, half a minute at most.
  CliResult Wait();

 private:
  TemporaryDirectory directory_;
  std::optional<ChildProcess> child_;
};

// Starts it and waits for its end.
CliResult RunCli(const std::string& program, const std::string& server,
                 const std::vector<std::string>& arguments);

// Lets others run for a moment.
void PauseBetweenLooks();

// Waits until `condition` is true, looking often. False if that takes over half a minute.
template <typename Condition>
bool WaitUntil(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    PauseBetweenLooks();
  }
  return true;
}

// State of a process as in /proc: 'T' stands still, 'Z' is a zombie. 'X' if there is none.
char StateOf(pid_t pid);

// Whether the process, or the group if `pid` is negative, exists and is more than a zombie.
bool IsAlive(pid_t pid);

}  // namespace lockkeeper::support
