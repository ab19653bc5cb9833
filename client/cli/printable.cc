// SPDX-License-Identifier: Apache-2.0
#include "cli/printable.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "text/utf8.h"

namespace lockkeeper::cli {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
};

// The property Default_Ignorable_Code_Point of Unicode 16, which has the controls of the writing
// direction and the selectors of variants, and the annotations U+FFF9..U+FFFB.
constexpr auto kInvisible = std::to_array<Range>({
    {0xad, 0xad},
    {0x34f, 0x34f},
    {0x61c, 0x61c},
    {0x115f, 0x1160},
    {0x17b4, 0x17b5},
    {0x180b, 0x180f},
    {0x200b, 0x200f},
    {0x202a, 0x202e},
    {0x2060, 0x206f},
    {0x3164, 0x3164},
    {0xfe00, 0xfe0f},
    {0xfeff, 0xfeff},
    {0xffa0, 0xffa0},
    {0xfff0, 0xfffb},
    {0x1bca0, 0x1bca3},
    {0x1d173, 0x1d17a},
    {0xe0000, 0xe0fff},
});

bool IsInvisible(uint32_t code_point) {
  return std::any_of(kInvisible.begin(), kInvisible.end(), [&](const Range& range) {
    return range.first <= code_point && code_point <= range.last;
  });
}

bool IsPrintableAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

std::string Printable(std::string_view text) {
  if (IsPrintableAscii(text)) return std::string(text);
  std::string printable;
  while (!text.empty()) {
    const text::Character first = text::FirstCharacter(text);
    if (first.fault == text::TextFault::kNotUtf8) {
      absl::StrAppendFormat(&printable, "\\x%02x", static_cast<uint8_t>(first.bytes[0]));
    } else if (first.fault == text::TextFault::kNone && !IsInvisible(first.code_point)) {
      printable += first.bytes;
    } else if (first.code_point < 0x10000) {
      absl::StrAppendFormat(&printable, "\\u%04x", first.code_point);
    } else {
      absl::StrAppendFormat(&printable, "\\U%08x", first.code_point);
    }
    text.remove_prefix(first.bytes.size());
  }
  return printable;
}

std::string PrintableLines(std::string_view text) {
  return absl::StrJoin(absl::StrSplit(absl::string_view(text.data(), text.size()), '\n'), "\n",
                       [](std::string* out, absl::string_view line) {
                         out->append(Printable({line.data(), line.size()}));
                       });
}

}  // namespace lockkeeper::cli
