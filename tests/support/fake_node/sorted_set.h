// SPDX-License-Identifier: Apache-2.0
//
// A sorted set of the in-process node: members with scores, in the order of score and name.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "support/fake_node/string_map.h"

namespace lockkeeper::support {

// Thread-safety: not thread-safe.
class SortedSet {
 public:
  using Member = std::pair<double, std::string>;  // Score, name.

  enum class Added { kNew, kMoved };
  Added Add(double score, std::string_view name);
  bool Remove(std::string_view name);
  std::optional<double> ScoreOf(std::string_view name) const;
  bool empty() const { return scores_.empty(); }
  const std::set<Member>& members() const { return members_; }

 private:
  StringMap<double> scores_;
  std::set<Member> members_;
};

}  // namespace lockkeeper::support
