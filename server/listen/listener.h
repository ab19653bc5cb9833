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
  config::ListenAddress address;        // Where the first one listens, with its port.
};

// Listens on `address`; port 0 lets the system choose. The path of a unix socket is the caller's: a
// file that lies there is replaced.
// Errors: UNAVAILABLE with a text for people that names the address and why.
absl::StatusOr<Listener> Listen(const config::ListenAddress& address);

}  // namespace lockkeeper::listen
