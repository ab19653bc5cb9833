// SPDX-License-Identifier: Apache-2.0
#include "redis/cluster/slot.h"

#include <array>

namespace lockkeeper::redis {
namespace {

uint16_t Crc16(std::string_view text) {
  constexpr uint32_t kPolynomial = 0x1021;
  constexpr uint32_t kHighBit = 0x8000;
  uint32_t crc = 0;
  for (const char c : text) {
    crc ^= static_cast<uint32_t>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & kHighBit) != 0 ? (crc << 1U) ^ kPolynomial : crc << 1U;
    }
  }
  return static_cast<uint16_t>(crc);
}

using Tags = std::array<std::string, kClusterParts>;

Tags FindTags() {
  constexpr size_t kSlotsPerPart = kSlots / kClusterParts;
  Tags tags;
  for (size_t number = 0, found = 0; found < kClusterParts; ++number) {
    std::string tag = std::to_string(number);
    std::string& of_part = tags.at(SlotOf(tag) / kSlotsPerPart);
    if (!of_part.empty()) continue;
    of_part = std::move(tag);
    ++found;
  }
  return tags;
}

}  // namespace

uint16_t SlotOf(std::string_view key) {
  const size_t open = key.find('{');
  if (open != std::string_view::npos) {
    const size_t close = key.find('}', open);
    if (close != std::string_view::npos && close > open + 1) {
      key = key.substr(open + 1, close - open - 1);
    }
  }
  return Crc16(key) % kSlots;
}

const std::string& TagOfPart(size_t part) {
  static const Tags kTags = FindTags();
  return kTags.at(part);
}

}  // namespace lockkeeper::redis
