// SPDX-License-Identifier: Apache-2.0
//
// One run of the embedded store's server program. The kernel kills this child when the thread that
// started it ends, so that it never outlives the daemon, however the daemon ends.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "core/types.h"
#include "os/descriptor.h"

namespace lockkeeper::embedded {

struct ServerCommand {
  std::string program;
  std::string settings_file;      // Its only argument.
  std::string working_directory;  // And the folder of its files.
  std::string log_file;           // Its output is appended here.
  std::string socket_path;        // Where it will listen.
  int inherited_descriptor = -1;  // The only descriptor of ours that it inherits.
};

// Thread-safety: use it on the thread that started it, which must block all signals.
class ServerProcess {
 public:
  // Errors: STORE_UNAVAILABLE that says why the program cannot be started.
  static absl::StatusOr<ServerProcess> Start(const ServerCommand& command);

  // Kills a server that still runs.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&& other) = delete;

  pid_t pid() const { return pid_; }

  enum class Event { kEnded, kInterrupted, kTimeOver };

  // Waits until the server has ended, `interrupt` is readable, or `limit` has passed (negative: no
  // limit).
  Event Wait(int interrupt, core::Millis limit);

  // "ended with exit code 1" or "was killed by signal 9 (Killed)". Requires: it has ended.
  std::string HowItEnded() const;

  enum class Answer { kNone, kLoading, kReady };

  // Sends PING over its socket.
  Answer Ping() const;

  // SIGTERM, and, if it has not ended after `patience`, SIGKILL. Waits for its end.
  void Stop(core::Millis patience);

 private:
  ServerProcess(pid_t pid, os::Descriptor process, std::string socket_path);
  void Reap();

  pid_t pid_ = -1;
  os::Descriptor process_;
  std::string socket_path_;
  std::optional<int> status_;  // Of waitpid, once it has ended.
};

}  // namespace lockkeeper::embedded
