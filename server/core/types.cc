// SPDX-License-Identifier: Apache-2.0
#include "core/types.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace lockkeeper::core {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr size_t kUuidLength = 36;

bool IsUuidDash(size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

// By byte: the hex digit in lower case, or 0 if it is none.
constexpr std::array<char, 256> kLowerHexDigits = [] {
  std::array<char, 256> digits{};
  for (const char c : kHexDigits) digits[static_cast<uint8_t>(c)] = c;
  for (char c = 'A'; c <= 'F'; ++c) {
    digits[static_cast<uint8_t>(c)] = static_cast<char>(c - 'A' + 'a');
  }
  return digits;
}();

void WriteHex16(uint64_t bits, char* digits) {
  for (int i = 15; i >= 0; --i, bits >>= 4) digits[i] = kHexDigits[bits & 0xf];
}

}  // namespace

std::optional<LeaseId> LeaseId::Parse(std::string_view text) {
  const bool uuid = text.size() == kUuidLength;
  if (!uuid && text.size() != kLength) return std::nullopt;

  LeaseId id;
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (uuid && IsUuidDash(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const char digit = kLowerHexDigits[static_cast<uint8_t>(text[i])];
    if (digit == 0) return std::nullopt;
    id.digits_[count++] = digit;
  }
  return id;
}

LeaseId LeaseId::FromBits(uint64_t high, uint64_t low) {
  LeaseId id;
  WriteHex16(high, id.digits_.data());
  WriteHex16(low, id.digits_.data() + 16);
  return id;
}

std::string LeaseId::masked() const { return std::string(digits().substr(0, 8)) + "..."; }

std::ostream& operator<<(std::ostream& out, const LeaseId& id) { return out << id.masked(); }

Keeper::Keeper(uint64_t daemon_id, uint64_t number) {
  WriteHex16(daemon_id, digits_.data());
  WriteHex16(number, digits_.data() + 16);
}

std::optional<Keeper> Keeper::Parse(std::string_view text) {
  const std::optional<LeaseId> digits = LeaseId::Parse(text);
  if (!digits || text.size() != kLength) return std::nullopt;
  Keeper keeper;
  std::copy_n(digits->digits().begin(), kLength, keeper.digits_.begin());
  return keeper;
}

std::string Hex16(uint64_t bits) {
  std::string digits(16, '0');
  WriteHex16(bits, digits.data());
  return digits;
}

}  // namespace lockkeeper::core
