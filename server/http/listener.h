// SPDX-License-Identifier: Apache-2.0
//
// The sockets on which HTTP listens: one, or several if a name has several addresses.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "config/listen_address.h"
#include "posix/descriptor.h"

namespace lockkeeper::http {

struct Listener {
  std::vector<posix::Descriptor> sockets;  // Not blocking.
  config::ListenAddress address;           // Where the first one listens, with its port.
};

// Listens on `address`, which is no unix socket; port 0 lets the system choose.
// Errors: UNAVAILABLE with a text for people that names the address and why.
absl::StatusOr<Listener> Listen(const config::ListenAddress& address);

}  // namespace lockkeeper::http
