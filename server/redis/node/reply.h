// SPDX-License-Identifier: Apache-2.0
//
// What a node answers to a command, free of the Redis library, so that the store runs unchanged
// over a real node and over the in-process one of the tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::redis {

struct Reply {
  enum class Type { kNil, kInteger, kText, kError, kArray };

  Type type = Type::kNil;
  int64_t integer = 0;  // kInteger
  std::string text;     // kText (bulk and simple strings: any bytes), kError (one line of text)
  std::vector<Reply> items;  // kArray
};

// The value behind `name` in an array of names and values; empty if there is none.
std::string_view ValueIn(const Reply& pairs, std::string_view name);

}  // namespace lockkeeper::redis
