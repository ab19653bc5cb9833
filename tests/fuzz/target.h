// SPDX-License-Identifier: Apache-2.0
//
// What a fuzz target consists of: one function, which the fuzzer or replay.cc calls with each
// input. It must accept every input; a crash, a sanitizer's finding or a failed Require() is a
// find.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "text/utf8.h"

// Defined by each file of targets/. Answers 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace lockkeeper::fuzz {

inline std::string_view TextOf(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Ends the process unless `holds`. `promise` says what should have been true.
inline void Require(bool holds, std::string_view promise) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(promise.size()), promise.data());
  std::abort();
}

// What is wrong, and what is logged, must be one line of text, whatever the input is.
inline void RequireOneLine(std::string_view text) {
  Require(text::FindTextFault(text) == text::TextFault::kNone, "a problem can be shown");
}

// Takes the text before the first `separator` off the front of `rest`; all of it if there is none.
inline std::string_view TakeField(std::string_view& rest, char separator = '\0') {
  const size_t end = rest.find(separator);
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return field;
}

}  // namespace lockkeeper::fuzz
