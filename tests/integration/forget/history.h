// SPDX-License-Identifier: Apache-2.0
//
// What the clients of a test were granted, by their own clock, and what has to be true of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace lockkeeper::forget {

using Time = std::chrono::steady_clock::time_point;

// One lease, as its holder knows it.
struct Held {
  std::string lock;
  std::string lease_id;
  int64_t token = 0;
  Time asked;     // The acquire was sent.
  Time answered;  // From here on the holder worked,
  Time over;      // until here: it sent the release, or its ttl had passed since its last request.
};

// Thread-safety: thread-safe.
class History {
 public:
  void Add(Held held);

  // The first lease that was asked for after `begin`.
  std::optional<Held> FirstAskedAfter(Time begin) const;

  // Fails the test where two holders worked at a time, where a token did not rise from a grant that
  // was answered to one that was asked for later, or where there are two of one token.
  void ExpectSound() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<Held>> by_lock_;
};

}  // namespace lockkeeper::forget
