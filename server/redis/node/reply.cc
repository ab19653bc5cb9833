// SPDX-License-Identifier: Apache-2.0
#include "redis/node/reply.h"

namespace lockkeeper::redis {

std::string_view ValueIn(const Reply& pairs, std::string_view name) {
  for (size_t i = 0; i + 1 < pairs.items.size(); i += 2) {
    if (pairs.items[i].text == name) return pairs.items[i + 1].text;
  }
  return "";
}

}  // namespace lockkeeper::redis
