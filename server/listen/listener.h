// SPDX-License-Identifier: Apache-2.0
//
// The sockets on which gRPC and HTTP listen: one, or several if a name has several addresses.
#pragma once

#include <vector>

#include "absl/status/statusor.h"
#include "config/listen_address.h"
#include "os/descriptor.h"

namespace lockkeeper::listen {

struct Listener {
  std::vector<os::Descriptor> sockets;  // Not blocking.
  config::ListenAddress address;        // Of the first socket, with the port in use.
};

// Listens on `address`; port 0 lets the system choose. Replaces a file at the path of a unix
// socket: the caller must have the right to it. Errors: UNAVAILABLE with a text for people that
// names the address and the reason.
absl::StatusOr<Listener> Listen(const config::ListenAddress& address);

}  // namespace lockkeeper::listen
