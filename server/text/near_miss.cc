// SPDX-License-Identifier: Apache-2.0
#include "text/near_miss.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockkeeper::text {
namespace {

// Longer words are not compared, because the cost is the product of both lengths.
constexpr size_t kWordBytesMax = 128;

// The edit distance from `a` to `b` (optimal string alignment), with three rows of the matrix.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_previous;
  std::vector<size_t> previous(b.size() + 1);
  std::vector<size_t> row(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, previous[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_previous[j - 2] + 1);
      }
    }
    before_previous = std::exchange(previous, row);
  }
  return previous[b.size()];
}

}  // namespace

std::optional<std::string> NearMiss(std::string_view word, const std::vector<std::string>& known) {
  if (word.size() > kWordBytesMax) return std::nullopt;
  std::optional<std::string> nearest;
  size_t least = word.size() / 3 + 1;  // A larger distance is no misspelling.
  for (const std::string& candidate : known) {
    const size_t longer = std::max(word.size(), candidate.size());
    const size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter >= least) continue;
    const size_t distance = Distance(word, candidate);
    if (distance < least) {
      least = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace lockkeeper::text
