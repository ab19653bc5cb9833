// SPDX-License-Identifier: Apache-2.0
#include "text/utf8.h"

#include <cstdint>

namespace lockkeeper::text {
namespace {

struct Sequence {
  int length;           // 0: `first` cannot begin a character.
  uint8_t second_low;   // Range of the second byte, which excludes overlong forms,
  uint8_t second_high;  // surrogates and what lies beyond U+10FFFF.
};

Sequence SequenceOf(uint8_t first) {
  if (first < 0x80) return {1, 0, 0};
  if (first >= 0xc2 && first <= 0xdf) return {2, 0x80, 0xbf};
  if (first == 0xe0) return {3, 0xa0, 0xbf};
  if (first == 0xed) return {3, 0x80, 0x9f};
  if (first >= 0xe1 && first <= 0xef) return {3, 0x80, 0xbf};
  if (first == 0xf0) return {4, 0x90, 0xbf};
  if (first >= 0xf1 && first <= 0xf3) return {4, 0x80, 0xbf};
  if (first == 0xf4) return {4, 0x80, 0x8f};
  return {0, 0, 0};
}

uint32_t FirstBits(uint8_t first, int length) {
  return length == 1 ? first : first & (0xffU >> (length + 1));
}

bool IsControl(uint32_t code_point) {
  return code_point < 0x20 || (code_point >= 0x7f && code_point <= 0x9f) || code_point == 0x2028 ||
         code_point == 0x2029;
}

}  // namespace

TextFault FindTextFault(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto first = static_cast<uint8_t>(text[i]);
    const Sequence sequence = SequenceOf(first);
    const auto length = static_cast<size_t>(sequence.length);
    if (length == 0 || i + length > text.size()) return TextFault::kNotUtf8;

    uint32_t code_point = FirstBits(first, sequence.length);
    for (size_t k = 1; k < length; ++k) {
      const auto byte = static_cast<uint8_t>(text[i + k]);
      const uint8_t low = k == 1 ? sequence.second_low : 0x80;
      const uint8_t high = k == 1 ? sequence.second_high : 0xbf;
      if (byte < low || byte > high) return TextFault::kNotUtf8;
      code_point = (code_point << 6) | (byte & 0x3fU);
    }
    if (IsControl(code_point)) return TextFault::kControlCharacter;
    i += length;
  }
  return TextFault::kNone;
}

}  // namespace lockkeeper::text
