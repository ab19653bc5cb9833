// SPDX-License-Identifier: Apache-2.0
#include "text/stable_hash.h"

namespace lockkeeper::text {

uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3U;
  }
  return hash;
}

}  // namespace lockkeeper::text
