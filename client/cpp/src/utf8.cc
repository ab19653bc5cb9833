// SPDX-License-Identifier: Apache-2.0
#include "utf8.h"

#include <cstdint>

namespace lockkeeper::client {
namespace {

struct Lead {
  size_t length;  // 0: not the first byte of a character.
  uint32_t bits;  // What the first byte gives to the code point.
};

Lead LeadOf(unsigned char byte) {
  if (byte < 0x80) return {1, byte};
  if (byte < 0xC2) return {0, 0};
  if (byte < 0xE0) return {2, byte & 0x1FU};
  if (byte < 0xF0) return {3, byte & 0x0FU};
  if (byte < 0xF5) return {4, byte & 0x07U};
  return {0, 0};
}

// Longer forms of shorter characters, surrogates and what lies above Unicode are no characters.
bool IsCodePoint(uint32_t code_point, size_t length) {
  if (length == 3) return code_point >= 0x800 && (code_point < 0xD800 || code_point > 0xDFFF);
  if (length == 4) return code_point >= 0x10000 && code_point <= 0x10FFFF;
  return true;
}

}  // namespace

size_t Utf8CharacterLength(std::string_view text) {
  const Lead lead = LeadOf(static_cast<unsigned char>(text[0]));
  if (lead.length == 0 || lead.length > text.size()) return 0;
  uint32_t code_point = lead.bits;
  for (size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (byte & 0x3FU);
  }
  return IsCodePoint(code_point, lead.length) ? lead.length : 0;
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = Utf8CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace lockkeeper::client
