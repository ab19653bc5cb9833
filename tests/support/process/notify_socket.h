// SPDX-License-Identifier: Apache-2.0
//
// The service manager's end of sd_notify(3): a datagram socket that keeps what services say.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "os/descriptor.h"
#include "support/process/temporary_directory.h"

namespace lockkeeper::support {

// Errors: throws std::system_error, which fails the test.
// Thread-safety: thread-compatible.
class NotifySocket {
 public:
  enum class Kind { kPath, kAbstract };

  explicit NotifySocket(Kind kind = Kind::kPath);

  // What NOTIFY_SOCKET has to be.
  const std::string& address() const { return address_; }

  // The next message; nothing if none came within `limit`.
  std::optional<std::string> Next(std::chrono::milliseconds limit = std::chrono::seconds(30));

 private:
  TemporaryDirectory directory_;
  std::string address_;
  os::Descriptor socket_;
};

}  // namespace lockkeeper::support
