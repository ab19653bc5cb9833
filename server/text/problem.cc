// SPDX-License-Identifier: Apache-2.0
#include "text/problem.h"

#include "text/escape.h"

namespace lockkeeper::text {
namespace {

constexpr size_t kShownBytesMax = 80;

}  // namespace

std::string Quoted(std::string_view text) {
  const std::string_view shown = CutAtCharacter(text, kShownBytesMax);
  std::string quoted;
  AppendQuoted(shown, quoted);
  if (shown.size() < text.size()) quoted.insert(quoted.size() - 1, "...");
  return quoted;
}

}  // namespace lockkeeper::text
