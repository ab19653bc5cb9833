// SPDX-License-Identifier: Apache-2.0
//
// The reply of a command of the in-process node: a redis::Reply, and whether its text is a status
// such as OK, which a script sees as a table.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/node/reply.h"

namespace lockkeeper::support {

// The words of a command, its name first.
using Words = std::span<const std::string_view>;

enum class TextForm { kBulk, kStatus };

struct CommandReply {
  redis::Reply reply;
  TextForm form = TextForm::kBulk;

  bool is_error() const { return reply.type == redis::Reply::Type::kError; }
};

inline CommandReply NilReply() { return {}; }

inline CommandReply IntegerReply(int64_t value) {
  return {{.type = redis::Reply::Type::kInteger, .integer = value}};
}

inline CommandReply BulkReply(std::string_view text) {
  return {{.type = redis::Reply::Type::kText, .text = std::string(text)}};
}

inline CommandReply StatusReply(std::string_view text) {
  return {{.type = redis::Reply::Type::kText, .text = std::string(text)}, TextForm::kStatus};
}

// `message` begins with the error's word, such as "ERR" or "WRONGTYPE".
inline CommandReply ErrorReply(std::string_view message) {
  return {{.type = redis::Reply::Type::kError, .text = std::string(message)}};
}

inline CommandReply ArrayReply(std::vector<redis::Reply> items) {
  return {{.type = redis::Reply::Type::kArray, .items = std::move(items)}};
}

}  // namespace lockkeeper::support
