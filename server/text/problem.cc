// SPDX-License-Identifier: Apache-2.0
#include "text/problem.h"

#include "absl/strings/escaping.h"

namespace lockkeeper::text {
namespace {

constexpr size_t kShownBytesMax = 80;

}  // namespace

std::string Quoted(std::string_view text) {
  const bool whole = text.size() <= kShownBytesMax;
  const std::string_view shown = text.substr(0, kShownBytesMax);
  return "\"" + absl::Utf8SafeCEscape(absl::string_view(shown.data(), shown.size())) +
         (whole ? "\"" : "...\"");
}

}  // namespace lockkeeper::text
