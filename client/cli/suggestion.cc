// SPDX-License-Identifier: Apache-2.0
#include "cli/suggestion.h"

#include <algorithm>
#include <cstddef>

namespace lockkeeper::cli {
namespace {

// Damerau's distance: insert, delete, replace, swap neighbours.
size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> cost(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replace = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cost[i][j] = std::min({replace, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

}  // namespace

std::string Suggest(std::string_view typed, const std::vector<std::string>& known) {
  constexpr size_t kTypedMax = 64;  // Longer words are no typing errors.
  if (typed.size() > kTypedMax) return "";
  std::string nearest;
  size_t best = 3;
  for (const std::string& word : known) {
    const size_t distance = Distance(typed, word);
    if (distance < best && distance * 2 < word.size()) {
      best = distance;
      nearest = word;
    }
  }
  return nearest;
}

}  // namespace lockkeeper::cli
