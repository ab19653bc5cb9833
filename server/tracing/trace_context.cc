// SPDX-License-Identifier: Apache-2.0
#include "tracing/trace_context.h"

#include <algorithm>

namespace lockkeeper::tracing {
namespace {

// "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
constexpr size_t kVersionAt = 0;
constexpr size_t kTraceIdAt = 3;
constexpr size_t kSpanIdAt = 36;
constexpr size_t kFlagsAt = 53;
constexpr size_t kLength = 55;
constexpr size_t kByteDigits = 2;
constexpr size_t kWordDigits = 16;

constexpr uint64_t kVersionNever = 0xff;
constexpr uint64_t kSampled = 0x01;

// Lower case only, as W3C says.
std::optional<uint64_t> ParseHex(std::string_view digits) {
  uint64_t value = 0;
  for (const char digit : digits) {
    const bool is_decimal = digit >= '0' && digit <= '9';
    if (!is_decimal && (digit < 'a' || digit > 'f')) return std::nullopt;
    value = value << 4 | static_cast<uint64_t>(is_decimal ? digit - '0' : digit - 'a' + 10);
  }
  return value;
}

}  // namespace

std::optional<TraceContext> ParseTraceparent(std::string_view text) {
  if (text.size() < kLength) return std::nullopt;
  for (const size_t dash : {kTraceIdAt, kSpanIdAt, kFlagsAt}) {
    if (text[dash - 1] != '-') return std::nullopt;
  }
  const auto version = ParseHex(text.substr(kVersionAt, kByteDigits));
  if (!version || *version == kVersionNever) return std::nullopt;
  // Only newer versions may have more fields.
  if (text.size() > kLength && (*version == 0 || text[kLength] != '-')) return std::nullopt;
  const auto high = ParseHex(text.substr(kTraceIdAt, kWordDigits));
  const auto low = ParseHex(text.substr(kTraceIdAt + kWordDigits, kWordDigits));
  const auto span_id = ParseHex(text.substr(kSpanIdAt, kWordDigits));
  const auto flags = ParseHex(text.substr(kFlagsAt, kByteDigits));
  if (!high || !low || !span_id || !flags) return std::nullopt;
  if ((*high == 0 && *low == 0) || *span_id == 0) return std::nullopt;
  return TraceContext{.trace_id = {.high = *high, .low = *low},
                      .span_id = *span_id,
                      .sampled = (*flags & kSampled) != 0};
}

bool IsTracestate(std::string_view text) {
  return text.size() <= kTracestateBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace lockkeeper::tracing
