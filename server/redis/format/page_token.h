// SPDX-License-Identifier: Apache-2.0
//
// Where a listing goes on: a SCAN cursor, and how far the locks found there were already given out,
// because SCAN may find more than a page holds. They are given out in the order of their hashes, so
// that locks that come and go meanwhile do not shift the others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace lockkeeper::redis {

struct PageToken {
  uint64_t cursor = 0;
  uint64_t after = 0;  // text::StableHash of the last lock given out; 0: none was.

  // "<cursor>.<after>"
  std::string Encode() const;

  // Nothing if `text` was not made by Encode(). An empty text is the beginning.
  static std::optional<PageToken> Decode(std::string_view text);
};

}  // namespace lockkeeper::redis
