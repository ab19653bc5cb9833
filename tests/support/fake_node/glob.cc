// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/glob.h"

#include <utility>

namespace lockkeeper::support {
namespace {

// Takes the set that `pattern` begins with, behind its bracket; leaves `pattern` behind the closing
// one, or at the end if there is none. Whether `c` is in the set.
bool TakeSetAndMatch(std::string_view& pattern, char c) {
  const bool negated = !pattern.empty() && pattern.front() == '^';
  if (negated) pattern.remove_prefix(1);
  bool in_set = false;
  for (;;) {
    if (pattern.empty()) break;
    if (pattern.front() == '\\' && pattern.size() >= 2) {
      in_set |= pattern[1] == c;
      pattern.remove_prefix(2);
    } else if (pattern.front() == ']') {
      pattern.remove_prefix(1);
      break;
    } else if (pattern.size() >= 3 && pattern[1] == '-') {
      auto low = pattern[0];
      auto high = pattern[2];
      if (low > high) std::swap(low, high);
      in_set |= c >= low && c <= high;
      pattern.remove_prefix(3);
    } else {
      in_set |= pattern.front() == c;
      pattern.remove_prefix(1);
    }
  }
  return in_set != negated;
}

bool StarMatches(std::string_view rest, std::string_view text) {
  for (; !text.empty(); text.remove_prefix(1)) {
    if (GlobMatches(rest, text)) return true;
  }
  return GlobMatches(rest, text);
}

}  // namespace

bool GlobMatches(std::string_view pattern, std::string_view text) {
  while (!pattern.empty()) {
    if (pattern.front() == '*') {
      while (!pattern.empty() && pattern.front() == '*') pattern.remove_prefix(1);
      return pattern.empty() || StarMatches(pattern, text);
    }
    if (text.empty()) return false;
    const char c = text.front();
    text.remove_prefix(1);
    if (pattern.front() == '?') {
      pattern.remove_prefix(1);
    } else if (pattern.front() == '[') {
      pattern.remove_prefix(1);
      if (!TakeSetAndMatch(pattern, c)) return false;
    } else {
      if (pattern.front() == '\\' && pattern.size() >= 2) pattern.remove_prefix(1);
      if (pattern.front() != c) return false;
      pattern.remove_prefix(1);
    }
  }
  return text.empty();
}

}  // namespace lockkeeper::support
