// SPDX-License-Identifier: Apache-2.0
#include "redis/node/command.h"

#include <algorithm>
#include <charconv>

#include "redis/format/append_number.h"

namespace lockkeeper::redis {
namespace {

constexpr std::string_view kEnd = "\r\n";
constexpr size_t kDigitsMax = 20;

void AppendWord(std::string& to, std::string_view word) {
  char head[1 + kDigitsMax + kEnd.size()];
  head[0] = '$';
  char* const end = std::to_chars(head + 1, head + 1 + kDigitsMax, word.size()).ptr;
  to.append(head, std::copy(kEnd.begin(), kEnd.end(), end)).append(word).append(kEnd);
}

// Reads "<mark><number>\r\n" off the front of `wire`.
size_t TakeNumber(std::string_view& wire) {
  size_t number = 0;
  const auto end = std::from_chars(wire.data() + 1, wire.data() + wire.size(), number);
  wire.remove_prefix(static_cast<size_t>(end.ptr - wire.data()) + kEnd.size());
  return number;
}

}  // namespace

CommandPart::CommandPart(std::initializer_list<std::string_view> words) : size_(words.size()) {
  constexpr size_t kBytesAround = 12;  // Of a word: its mark, its length, two ends.
  size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size() + kBytesAround;
  wire_.reserve(bytes);
  for (const std::string_view word : words) AppendWord(wire_, word);
}

Command::Command(size_t word_count) {
  wire_.push_back('*');
  AppendNumber(wire_, static_cast<int64_t>(word_count));
  wire_.append(kEnd);
}

Command Command::Of(std::initializer_list<std::string_view> words) {
  Command command(words.size());
  for (const std::string_view word : words) command.Word(word);
  return command;
}

Command& Command::Word(std::string_view word) {
  AppendWord(wire_, word);
  return *this;
}

Command& Command::Number(int64_t number) {
  char digits[kDigitsMax];
  const auto end = std::to_chars(digits, digits + kDigitsMax, number);
  return Word({digits, static_cast<size_t>(end.ptr - digits)});
}

Command& Command::Append(const CommandPart& part) {
  wire_.append(part.wire());
  return *this;
}

std::vector<std::string_view> Command::Words() const {
  std::string_view wire = wire_;
  std::vector<std::string_view> words(TakeNumber(wire));
  for (std::string_view& word : words) {
    const size_t length = TakeNumber(wire);
    word = wire.substr(0, length);
    wire.remove_prefix(length + kEnd.size());
  }
  return words;
}

}  // namespace lockkeeper::redis
