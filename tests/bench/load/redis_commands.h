// SPDX-License-Identifier: Apache-2.0
//
// What a Redis says of itself: its process, and how many commands it has run.
#pragma once

#include <sys/types.h>

#include <string>

namespace lockkeeper::bench {

pid_t RedisProcess(const std::string& socket);

// Without those that ask for it.
struct CommandCounts {
  double sent = 0;    // Script calls that clients sent.
  double inside = 0;  // Commands that scripts ran.
};

CommandCounts CountCommands(const std::string& socket);

}  // namespace lockkeeper::bench
