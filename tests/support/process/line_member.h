// SPDX-License-Identifier: Apache-2.0
//
// What a test can see of a line of waiters in Redis, see server/redis/scripts/line.lua.
#pragma once

#include <sstream>
#include <string>

namespace lockkeeper::support {

// Attempt of the waiter that a member of a line stands for; 0 if the member is no waiter. A
// waiter's words are lease id, digest, attempt and more; other members are one word.
inline int AttemptInLine(const std::string& member) {
  std::istringstream words(member);
  std::string lease_id, digest;
  int attempt = 0;
  words >> lease_id >> digest >> attempt;
  return words ? attempt : 0;
}

}  // namespace lockkeeper::support
