// SPDX-License-Identifier: Apache-2.0
//
// One Redis command, built in the wire format in one buffer: a script call of 32 locks has over a
// hundred words, and a string each would cost more than the call.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::redis {

// Words of a command that are made before the command is.
class CommandPart {
 public:
  CommandPart() = default;
  CommandPart(std::initializer_list<std::string_view> words);

  size_t size() const { return size_; }
  std::string_view wire() const { return wire_; }

 private:
  std::string wire_;
  size_t size_ = 0;
};

class Command {
 public:
  // Starts a command of exactly `word_count` words.
  explicit Command(size_t word_count);

  // A command of these words.
  static Command Of(std::initializer_list<std::string_view> words);

  // Appends a word of any bytes. Answers this command, to go on with.
  Command& Word(std::string_view word);
  Command& Number(int64_t number);
  Command& Append(const CommandPart& part);

  // Makes room for so many bytes in all.
  void Reserve(size_t bytes) { wire_.reserve(bytes); }

  // The command in the Redis serialization protocol. Requires: all words are there.
  std::string_view wire() const { return wire_; }

  // The words, as views into this command. Requires: all words are there.
  std::vector<std::string_view> Words() const;

 private:
  std::string wire_;
};

}  // namespace lockkeeper::redis
