// SPDX-License-Identifier: Apache-2.0
//
// A real lockkeeperd of the test's own. It ends with the test, even if the test crashes.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/process/child_process.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

struct DaemonProcessOptions {
  std::string program;  // LOCKKEEPERD_PROGRAM
  std::vector<std::string> arguments;
  // With store.first_use_wait at 0s, unless it is set here.
  std::vector<std::pair<std::string, std::string>> environment;
};

// Errors: throws std::runtime_error with the daemon's last words, which fails the test.
// Thread-safety: not thread-safe; start it on the test's main thread (see ChildProcess).
class DaemonProcess {
 public:
  // Starts it and waits for nothing.
  explicit DaemonProcess(const DaemonProcessOptions& options);

  // Waits until it has said that it is ready.
  void WaitUntilReady();

  // What it has written so far.
  std::string Stdout() const;
  std::string Stderr() const;

  // Its addresses, as its ready line has them. Requires: it is ready.
  std::vector<std::string> GrpcAddresses() const;
  std::string GrpcAddress() const { return GrpcAddresses().front(); }
  std::string HttpAddress() const;

  pid_t pid() const { return process_->pid(); }
  void Signal(int signal) { process_->Signal(signal); }
  void Pause() { process_->Pause(); }
  void Resume() { process_->Resume(); }

  // Waits until it has ended. Errors: throws besides if it has not after a minute.
  ProcessEnd WaitForEnd();
  // Exit code of that end; -1 if it died by a signal.
  int ExitCode() { return WaitForEnd().exit_code.value_or(-1); }
  bool Runs() { return !process_->WaitForEnd(std::chrono::milliseconds(0)); }

  // Waits until `text` stands in its log.
  void WaitForLog(const std::string& text);

 private:
  std::string Word(const std::string& name) const;
  template <typename Condition>
  void WaitFor(const std::string& what, Condition condition);

  TemporaryDirectory directory_;
  std::unique_ptr<ChildProcess> process_;
};

}  // namespace lockkeeper::support
