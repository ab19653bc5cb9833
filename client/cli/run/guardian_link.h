// SPDX-License-Identifier: Apache-2.0
//
// run's side of its guardian.
#pragma once

#include <sys/types.h>

#include <optional>
#include <variant>

#include "absl/status/statusor.h"
#include "cli/run/guardian.h"
#include "cli/run/protocol.h"
#include "os/descriptor.h"

namespace lockkeeper::cli {

// Thread-safety: thread-compatible.
class GuardianLink {
 public:
  // The guardian is gone.
  struct Gone {};

  // Forks the guardian. Requires: this process has one thread, and no gRPC. Errors: INTERNAL with
  // the system's text.
  static absl::StatusOr<GuardianLink> Fork(const GuardianSetup& setup);

  GuardianLink(GuardianLink&&) = default;
  // Ends the guardian, which kills the command if it still runs, and waits for it.
  ~GuardianLink();
  GuardianLink(const GuardianLink&) = delete;
  GuardianLink& operator=(const GuardianLink&) = delete;
  GuardianLink& operator=(GuardianLink&&) = delete;

  // Readable when there is a notice.
  int descriptor() const { return socket_.get(); }

  // Does nothing if the guardian is gone.
  void Send(const Order& order);

  // The next notice, if there is one.
  std::variant<std::monostate, Notice, Gone> Receive();

 private:
  GuardianLink(os::Descriptor socket, pid_t pid) : socket_(std::move(socket)), pid_(pid) {}

  os::Descriptor socket_;
  pid_t pid_;
};

}  // namespace lockkeeper::cli
