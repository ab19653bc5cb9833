// SPDX-License-Identifier: Apache-2.0
//
// A bare TCP connection, for tests that say what no client says.
#pragma once

#include <cstdint>
#include <string_view>

#include "os/descriptor.h"

namespace lockkeeper::support {

// A connection to `port` of 127.0.0.1 over which `bytes` were sent. Not valid if nobody listens.
os::Descriptor ConnectTo(uint16_t port, std::string_view bytes = {});

}  // namespace lockkeeper::support
