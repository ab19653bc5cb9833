// SPDX-License-Identifier: Apache-2.0
//
// A resource that checks fencing tokens, on reads and writes: it keeps the highest token that it
// has seen, and rejects lower ones. Clients add one to it under a lock, so a lost update shows.
#pragma once

#include <cstdint>
#include <optional>

namespace lockkeeper::simulation {

class FencedCounter {
 public:
  // Value, or nothing if the token is stale.
  std::optional<int64_t> Read(int64_t token) {
    if (!Admits(token)) return std::nullopt;
    return value_;
  }

  // False if the token is stale; nothing is written then.
  bool Write(int64_t token, int64_t value) {
    if (!Admits(token)) return false;
    value_ = value;
    ++writes_;
    return true;
  }

  int64_t value() const { return value_; }
  int64_t writes() const { return writes_; }

 private:
  bool Admits(int64_t token) {
    if (token < mark_) return false;
    mark_ = token;
    return true;
  }

  int64_t mark_ = 0;
  int64_t value_ = 0;
  int64_t writes_ = 0;
};

}  // namespace lockkeeper::simulation
