// SPDX-License-Identifier: Apache-2.0
//
// A column of a text that Redis keeps. The build lists those of the record (record_columns.h) and
// of the marker (marker_columns.h), as the head of a script lists them.
#pragma once

#include <cstddef>
#include <string_view>

namespace lockkeeper::redis {

// The first and the last byte, counted from 1.
struct Column {
  size_t first;
  size_t last;

  constexpr size_t width() const { return last - first + 1; }
  // Requires: `text` is not shorter than `first - 1`.
  constexpr std::string_view Of(std::string_view text) const {
    return text.substr(first - 1, width());
  }
};

}  // namespace lockkeeper::redis
