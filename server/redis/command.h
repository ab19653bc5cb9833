// SPDX-License-Identifier: Apache-2.0
//
// One Redis command, built in the wire format in one buffer: a script call of 32 locks has over a
// hundred words, and a string each would cost more than the call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lockkeeper::redis {

class Command {
 public:
  // Starts a command of exactly `word_count` words.
  explicit Command(size_t word_count);

  // Appends a word of any bytes. Answers this command, to go on with.
  Command& Word(std::string_view word);
  Command& Number(int64_t number);

  // The command in the Redis serialization protocol. Requires: all words are there.
  std::string_view wire() const { return wire_; }

  // The words, as views into this command.
  std::vector<std::string_view> Words() const;

 private:
  struct Span {
    size_t begin;
    size_t length;
  };

  std::string wire_;
  std::vector<Span> words_;
};

}  // namespace lockkeeper::redis
