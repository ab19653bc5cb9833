// SPDX-License-Identifier: Apache-2.0
#include "support/random.h"

#include <cstdlib>
#include <random>

namespace lockkeeper::support {

uint64_t Random::Bits() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t bits = state_;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

int64_t Random::Between(int64_t low, int64_t high) {
  const auto span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;
  const uint64_t offset = span == 0 ? Bits() : Below(span);
  return static_cast<int64_t>(static_cast<uint64_t>(low) + offset);
}

std::string Random::Bytes(size_t length) {
  std::string bytes(length, '\0');
  for (char& byte : bytes) byte = static_cast<char>(Bits() & 0xff);
  return bytes;
}

uint64_t ChooseSeed() {
  if (const char* seed = std::getenv("LOCKKEEPER_SEED")) return std::strtoull(seed, nullptr, 10);
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

int64_t RepeatsFrom(const char* name, int64_t by_default) {
  const char* repeats = std::getenv(name);
  return repeats ? std::strtoll(repeats, nullptr, 10) : by_default;
}

}  // namespace lockkeeper::support
