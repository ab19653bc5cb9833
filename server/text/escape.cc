// SPDX-License-Identifier: Apache-2.0
#include "text/escape.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "text/utf8.h"

namespace lockkeeper::text {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";
constexpr int kContinuationBytesMax = 3;

// The letter after the backslash for characters that have a short escape; 0 for others.
constexpr char ShortEscape(char character) {
  switch (character) {
    case '"':
    case '\\':
      return character;
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

// By a table: all but a few of the characters that are written are plain.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (char character = ' '; character <= '~'; ++character) {
    plain[static_cast<uint8_t>(character)] = ShortEscape(character) == 0;
  }
  return plain;
}();

bool IsPlainCharacter(char character) { return kPlain[static_cast<uint8_t>(character)]; }

void AppendHexByte(char byte, std::string& out) {
  out += kHexDigits[static_cast<uint8_t>(byte) >> 4];
  out += kHexDigits[static_cast<uint8_t>(byte) & 0xf];
}

// Appends `text` escaped; `append_odd` appends characters that are not printable.
template <typename AppendOdd>
void AppendEscaped(std::string_view text, std::string& out, AppendOdd append_odd) {
  for (;;) {
    const auto plain = static_cast<size_t>(
        std::find_if_not(text.begin(), text.end(), IsPlainCharacter) - text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const Character character = FirstCharacter(text);
    if (const char letter = ShortEscape(text[0]); letter != 0) {
      out += '\\';
      out += letter;
    } else if (character.fault == TextFault::kNone) {
      out += character.bytes;
    } else {
      append_odd(character, out);
    }
    text.remove_prefix(character.bytes.size());
  }
}

void AppendOddAsJson(const Character& character, std::string& out) {
  if (character.fault == TextFault::kNotUtf8) {
    out += "\xef\xbf\xbd";  // U+FFFD
    return;
  }
  out += "\\u";  // Control characters are below 2^16.
  AppendHexByte(static_cast<char>(character.code_point >> 8), out);
  AppendHexByte(static_cast<char>(character.code_point & 0xff), out);
}

void AppendOddAsText(const Character& character, std::string& out) {
  for (const char byte : character.bytes) {
    out += "\\x";
    AppendHexByte(byte, out);
  }
}

}  // namespace

bool IsPlain(std::string_view text) {
  bool plain = true;
  for (const char character : text) plain &= IsPlainCharacter(character);
  return plain;
}

void AppendJsonString(std::string_view text, std::string& out) {
  out += '"';
  AppendEscaped(text, out, AppendOddAsJson);
  out += '"';
}

void AppendTextValue(std::string_view text, std::string& out) {
  const size_t begin = out.size();
  AppendEscaped(text, out, AppendOddAsText);
  const bool bare = !text.empty() && text.find_first_of(" =") == std::string_view::npos &&
                    std::string_view(out).substr(begin) == text;
  if (bare) return;
  out.insert(begin, 1, '"');
  out += '"';
}

void AppendQuoted(std::string_view text, std::string& out) {
  out += '"';
  AppendEscaped(text, out, AppendOddAsText);
  out += '"';
}

std::string InOneLine(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (character.fault == TextFault::kNone) {
      line += character.bytes;
    } else {
      AppendOddAsText(character, line);
    }
    text.remove_prefix(character.bytes.size());
  }
  return line;
}

std::string_view CutAtCharacter(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t end = bytes_max;
  // More continuation bytes in a row are malformed UTF-8 anyway.
  for (int back = 0; back < kContinuationBytesMax && end > 0; ++back) {
    if ((static_cast<uint8_t>(text[end]) & 0xc0) != 0x80) break;
    --end;
  }
  return text.substr(0, end);
}

}  // namespace lockkeeper::text
