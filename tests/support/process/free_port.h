// SPDX-License-Identifier: Apache-2.0
//
// A TCP port of the loopback interface that nobody listens on, chosen by the system.
#pragma once

#include <cstdint>

namespace lockkeeper::support {

// The port is free when this returns; somebody else may take it before the caller does, so
// whoever gives it to a program tries again with another one when the program cannot have it.
uint16_t FreePort();

}  // namespace lockkeeper::support
