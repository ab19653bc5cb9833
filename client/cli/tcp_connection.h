// SPDX-License-Identifier: Apache-2.0
//
// One TCP connection, for looks at a server that go past gRPC.
#pragma once

#include <chrono>
#include <string>

#include "os/descriptor.h"

namespace lockkeeper::cli {

struct HostPort {
  std::string host;  // Without the brackets of [v6].
  std::string port;
};

// Of `host:port` or `[v6]:port`.
HostPort SplitHostPort(const std::string& target);

// Blocks, for `patience` at most for each address of the host; so does each read and write of the
// connection. Not valid if nobody answers; errno says why, or is 0 if the name has no address.
os::Descriptor ConnectTo(const HostPort& where, std::chrono::microseconds patience);

}  // namespace lockkeeper::cli
