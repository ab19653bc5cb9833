// SPDX-License-Identifier: Apache-2.0
#include "redis/command.h"

namespace lockkeeper::redis {

Command::Command(size_t word_count) {
  words_.reserve(word_count);
  wire_.append("*").append(std::to_string(word_count)).append("\r\n");
}

Command& Command::Word(std::string_view word) {
  wire_.append("$").append(std::to_string(word.size())).append("\r\n");
  words_.push_back({wire_.size(), word.size()});
  wire_.append(word).append("\r\n");
  return *this;
}

Command& Command::Number(int64_t number) { return Word(std::to_string(number)); }

std::vector<std::string_view> Command::Words() const {
  std::vector<std::string_view> words;
  words.reserve(words_.size());
  for (const Span& span : words_) {
    words.push_back(std::string_view(wire_).substr(span.begin, span.length));
  }
  return words;
}

}  // namespace lockkeeper::redis
