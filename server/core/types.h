// SPDX-License-Identifier: Apache-2.0
//
// The nouns of the domain: ids, tokens, times. Values only, no behaviour beyond parsing and
// printing. The words are those of docs/concepts; requests and answers are in requests.h.
#pragma once

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

namespace lockkeeper::core {

using Millis = std::chrono::milliseconds;
using Micros = std::chrono::microseconds;

// Point on this process's monotonic clock, see Clock. Never compared with a node's clock.
using Instant = std::chrono::steady_clock::time_point;

// Point on the store's clock, in microseconds since the Unix epoch.
struct NodeTime {
  int64_t micros = 0;
  auto operator<=>(const NodeTime&) const = default;
};

// Number that rises strictly with every grant of a lock. 0 means none; granted ones are in
// [1, 2^53), so that Lua and JavaScript hold them exactly.
struct FencingToken {
  int64_t value = 0;
  auto operator<=>(const FencingToken&) const = default;
};

// 128 bits as 32 lower-case hex digits, in place. Base of the two ids below.
class HexId {
 public:
  static constexpr size_t kLength = 32;

  HexId() { digits_.fill('0'); }

  // The 32 digits. Valid as long as this object.
  std::string_view digits() const { return {digits_.data(), digits_.size()}; }
  auto operator<=>(const HexId&) const = default;

 protected:
  std::array<char, kLength> digits_;
};

// Credential of one lease, chosen by the client. Printing shows its first 8 digits only.
class LeaseId : public HexId {
 public:
  // Reads 32 hex digits, or a UUID of 36 characters; any case. Nothing if `text` is neither.
  static std::optional<LeaseId> Parse(std::string_view text);

  // Makes the id of two random numbers.
  static LeaseId FromBits(uint64_t high, uint64_t low);

  // First 8 digits and "...": what may be shown.
  std::string masked() const;
};

std::ostream& operator<<(std::ostream& out, const LeaseId& id);

// Names the very call or session that may withdraw a grant: the daemon's random id (16 digits)
// and a number that the daemon gives once (16 digits). All zeros: nobody may.
class Keeper : public HexId {
 public:
  Keeper() = default;
  Keeper(uint64_t daemon_id, uint64_t number);

  // Keeper of a lease that a session adopts; `number` is given to no other. Unlike that of a call,
  // no attempt of the acquire takes it over.
  static Keeper OfHolder(uint64_t number) { return {UINT64_MAX, number}; }

  // Reads 32 hex digits. Nothing if `text` is not that.
  static std::optional<Keeper> Parse(std::string_view text);
};

// Sixteen hex digits of `bits`, lower case.
std::string Hex16(uint64_t bits);

// For hash tables with such ids as keys.
struct HashOfHexId {
  size_t operator()(const HexId& id) const { return std::hash<std::string_view>()(id.digits()); }
};

// How much the store had confirmed of a grant. Higher implies lower.
enum class Assurance { kNone = 0, kMemory = 1, kDisk = 2, kReplicas = 3, kQuorum = 4 };

}  // namespace lockkeeper::core
