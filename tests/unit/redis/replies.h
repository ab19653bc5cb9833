// SPDX-License-Identifier: Apache-2.0
//
// Replies of Redis, written in one line.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "redis/node/reply.h"

namespace lockkeeper::redis {

inline Reply Text(std::string text) {
  return {.type = Reply::Type::kText, .text = std::move(text)};
}

inline Reply Error(std::string text) {
  return {.type = Reply::Type::kError, .text = std::move(text)};
}

inline Reply Array(std::vector<std::string> texts) {
  Reply reply{.type = Reply::Type::kArray};
  for (std::string& text : texts) reply.items.push_back(Text(std::move(text)));
  return reply;
}

}  // namespace lockkeeper::redis
