// SPDX-License-Identifier: Apache-2.0
//
// The names with the most weight in a stream, found with a fixed number of counters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"

namespace lockkeeper::telemetry {

// The Space-Saving algorithm: A. Metwally, D. Agrawal, A. El Abbadi, "Efficient Computation of
// Frequent and Top-k Elements in Data Streams", 2005. Exact until there are more names than
// counters. After that a name takes over the counter with the least weight: each weight is too high
// by at most total weight / capacity, and each name with more weight than that has a counter.
//
// Thread-safety: thread-compatible.
class HeavyHitters {
 public:
  // Names by their weight, the least first.
  using Counters = std::multimap<int64_t, std::string>;

  // `capacity`: number of counters, at least 1.
  explicit HeavyHitters(size_t capacity) : capacity_(capacity) {}

  // Adds `weight`, at least 0, to that of `name`. Takes logarithmic time in the number of counters.
  void Add(std::string_view name, int64_t weight);

  void Clear();

  const Counters& counters() const { return counters_; }
  // Whether no counter has been taken over.
  bool is_exact() const { return is_exact_; }

 private:
  // Puts the counter back in its place, with `weight` more.
  void Place(Counters::node_type counter, int64_t weight);

  size_t capacity_;
  bool is_exact_ = true;
  Counters counters_;
  absl::flat_hash_map<std::string_view, Counters::iterator> by_name_;  // Borrows the names.
};

}  // namespace lockkeeper::telemetry
