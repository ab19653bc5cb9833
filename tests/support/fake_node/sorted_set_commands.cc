// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "support/fake_node/commands.h"

namespace lockkeeper::support {
namespace {

using Member = SortedSet::Member;

// Up to here a double is exact for every integer.
constexpr int64_t kExactMax = int64_t{1} << 53;

// Null if the key does not live; an error in `reply` if it is of another type.
SortedSet* FindSortedSet(Keyspace& keys, std::string_view key, CommandReply& reply) {
  Value* value = keys.Find(key);
  if (!value) return nullptr;
  auto* set = std::get_if<SortedSet>(value);
  if (!set) reply = WrongTypeReply();
  return set;
}

// As Redis reads the ends of ranges: nothing at all is 0, spaces may come first.
std::optional<double> ParseNumber(std::string_view word) {
  // As scripts send it; strtod takes long.
  int64_t integer = 0;
  if (ParseInteger(word, integer) && integer >= -kExactMax && integer <= kExactMax) {
    return static_cast<double>(integer);
  }
  const std::string text(word);
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size() || std::isnan(number)) return std::nullopt;
  return number;
}

// As Redis reads scores.
std::optional<double> ParseScore(std::string_view word) {
  if (word.empty() || std::isspace(static_cast<unsigned char>(word.front())) != 0) {
    return std::nullopt;
  }
  return ParseNumber(word);
}

std::string ScoreText(double score) {
  const bool negative_zero = score == 0 && std::signbit(score);
  // As nearly all are; snprintf takes long.
  if (std::abs(score) <= kExactMax && score == std::trunc(score) && !negative_zero) {
    return std::to_string(static_cast<int64_t>(score));
  }
  if (std::isinf(score)) return score > 0 ? "inf" : "-inf";
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.17g", score);
  return text.data();
}

// One end of a range of scores.
struct Bound {
  double score = 0;
  bool excluded = false;
};

std::optional<Bound> ParseBound(std::string_view word) {
  Bound bound;
  bound.excluded = word.starts_with('(');
  if (bound.excluded) word.remove_prefix(1);
  const auto score = ParseNumber(word);
  if (!score) return std::nullopt;
  bound.score = *score;
  return bound;
}

struct Range {
  Bound low;
  Bound high;

  bool IsBelow(double score) const { return low.excluded ? score <= low.score : score < low.score; }
  bool Reaches(double score) const {
    return high.excluded ? score < high.score : score <= high.score;
  }
};

std::optional<Range> ParseRange(std::string_view low, std::string_view high) {
  const auto low_bound = ParseBound(low);
  const auto high_bound = ParseBound(high);
  if (!low_bound || !high_bound) return std::nullopt;
  return Range{*low_bound, *high_bound};
}

// Shows the members of `set` in `range` to `visit`, in order, until it answers false.
template <typename Visit>
void ForMembersIn(const SortedSet& set, const Range& range, Visit visit) {
  const auto first = set.members().lower_bound(Member(range.low.score, ""));
  for (auto at = first; at != set.members().end() && range.Reaches(at->first); ++at) {
    if (!range.IsBelow(at->first) && !visit(*at)) return;
  }
}

struct RangeOptions {
  bool with_scores = false;
  int64_t offset = 0;
  int64_t count = -1;  // Negative: all.
};

// Error reply for a wrong option, else nil.
CommandReply ParseRangeOptions(Words words, RangeOptions& options) {
  for (size_t i = 4; i < words.size(); ++i) {
    if (IsKeyword(words[i], "WITHSCORES")) {
      options.with_scores = true;
    } else if (IsKeyword(words[i], "LIMIT") && i + 2 < words.size()) {
      if (!ParseInteger(words[i + 1], options.offset) ||
          !ParseInteger(words[i + 2], options.count)) {
        return NotAnIntegerReply();
      }
      i += 2;
    } else {
      return ErrorReply("ERR syntax error");
    }
  }
  return NilReply();
}

}  // namespace

CommandReply ZAdd(Keyspace& keys, Words words) {
  if (words.size() % 2 != 0) return ErrorReply("ERR syntax error");
  std::vector<double> scores;
  for (size_t i = 2; i < words.size(); i += 2) {
    const auto score = ParseScore(words[i]);
    if (!score) return ErrorReply("ERR value is not a valid float");
    scores.push_back(*score);
  }
  CommandReply fault;
  SortedSet* set = FindSortedSet(keys, words[1], fault);
  if (fault.is_error()) return fault;
  if (!set) set = &std::get<SortedSet>(keys.Put(words[1], SortedSet(), std::nullopt));
  int64_t added = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    added += set->Add(scores[i], words[3 + 2 * i]) == SortedSet::Added::kNew ? 1 : 0;
  }
  return IntegerReply(added);
}

CommandReply ZRem(Keyspace& keys, Words words) {
  CommandReply fault;
  SortedSet* set = FindSortedSet(keys, words[1], fault);
  if (!set) return fault.is_error() ? fault : IntegerReply(0);
  const auto removed = std::count_if(words.begin() + 2, words.end(),
                                     [set](std::string_view name) { return set->Remove(name); });
  if (set->empty()) keys.Erase(words[1]);
  return IntegerReply(removed);
}

CommandReply ZScore(Keyspace& keys, Words words) {
  CommandReply fault;
  const SortedSet* set = FindSortedSet(keys, words[1], fault);
  if (!set) return fault;
  const auto score = set->ScoreOf(words[2]);
  return score ? BulkReply(ScoreText(*score)) : NilReply();
}

CommandReply ZCount(Keyspace& keys, Words words) {
  const auto range = ParseRange(words[2], words[3]);
  if (!range) return ErrorReply("ERR min or max is not a float");
  CommandReply fault;
  const SortedSet* set = FindSortedSet(keys, words[1], fault);
  if (!set) return fault.is_error() ? fault : IntegerReply(0);
  int64_t count = 0;
  ForMembersIn(*set, *range, [&count](const Member&) {
    ++count;
    return true;
  });
  return IntegerReply(count);
}

CommandReply ZRangeByScore(Keyspace& keys, Words words) {
  RangeOptions options;
  if (CommandReply fault = ParseRangeOptions(words, options); fault.is_error()) return fault;
  const auto range = ParseRange(words[2], words[3]);
  if (!range) return ErrorReply("ERR min or max is not a float");
  CommandReply fault;
  const SortedSet* set = FindSortedSet(keys, words[1], fault);
  if (!set) return fault.is_error() ? fault : ArrayReply({});

  std::vector<redis::Reply> items;
  if (options.offset < 0) return ArrayReply({});
  ForMembersIn(*set, *range, [&](const Member& member) {
    if (options.offset-- > 0) return true;
    if (options.count-- == 0) return false;
    items.push_back(BulkReply(member.second).reply);
    if (options.with_scores) items.push_back(BulkReply(ScoreText(member.first)).reply);
    return true;
  });
  return ArrayReply(std::move(items));
}

}  // namespace lockkeeper::support
