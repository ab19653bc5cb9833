// SPDX-License-Identifier: Apache-2.0
#include "text/utf8.h"

#include <utf8cpp/utf8.h>

#include <algorithm>

namespace lockkeeper::text {
namespace {

constexpr size_t kCharacterBytesMax = 4;

TextFault FaultOf(uint32_t code_point) {
  const bool is_control = code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f) ||
                          code_point == 0x2028 || code_point == 0x2029;
  return is_control ? TextFault::kControlCharacter : TextFault::kNone;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return {text.substr(0, 1), first, FaultOf(first)};
  const std::string_view enough = text.substr(0, kCharacterBytesMax);
  const auto* end = enough.begin();
  if (utf8::find_invalid(enough.begin(), enough.end()) == end) {
    return {text.substr(0, 1), 0, TextFault::kNotUtf8};
  }
  const uint32_t code_point = utf8::unchecked::next(end);
  return {text.substr(0, static_cast<size_t>(end - enough.begin())), code_point,
          FaultOf(code_point)};
}

// Nearly all texts are printable ASCII, which is skipped without a look at its characters.
TextFault FindTextFault(std::string_view text) {
  while (true) {
    const auto* const other =
        std::find_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; });
    text.remove_prefix(static_cast<size_t>(other - text.begin()));
    if (text.empty()) return TextFault::kNone;
    const Character character = FirstCharacter(text);
    if (character.fault != TextFault::kNone) return character.fault;
    text.remove_prefix(character.bytes.size());
  }
}

bool IsUtf8(std::string_view text) { return utf8::is_valid(text.begin(), text.end()); }

}  // namespace lockkeeper::text
