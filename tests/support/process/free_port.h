// SPDX-License-Identifier: Apache-2.0
//
// A TCP port of the loopback interface that nobody listens on, chosen by the system.
#pragma once

#include <cstdint>

namespace lockkeeper::support {

// The port is free when this returns, but another process may take it before the caller does. So a
// caller must retry with another port if its program cannot listen there.
uint16_t FreePort();

}  // namespace lockkeeper::support
