// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/sorted_set.h"

namespace lockkeeper::support {

SortedSet::Added SortedSet::Add(double score, std::string_view name) {
  score += 0.0;  // Redis keeps small sets in a form that has no -0.
  const auto found = scores_.find(name);
  if (found == scores_.end()) {
    scores_.emplace(name, score);
    members_.emplace(score, name);
    return Added::kNew;
  }
  auto node = members_.extract({found->second, found->first});
  node.value().first = score;
  members_.insert(std::move(node));
  found->second = score;
  return Added::kMoved;
}

bool SortedSet::Remove(std::string_view name) {
  const auto found = scores_.find(name);
  if (found == scores_.end()) return false;
  members_.erase({found->second, found->first});
  scores_.erase(found);
  return true;
}

std::optional<double> SortedSet::ScoreOf(std::string_view name) const {
  const auto found = scores_.find(name);
  if (found == scores_.end()) return std::nullopt;
  return found->second;
}

}  // namespace lockkeeper::support
