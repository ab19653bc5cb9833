// SPDX-License-Identifier: Apache-2.0
//
// The commands that the in-process node knows: exactly those that the scripts, the store and the
// tests use. A new command is a function in the file of its type and a row in commands.cc.
#pragma once

#include <cstdint>
#include <string_view>

#include "support/fake_node/command_reply.h"
#include "support/fake_node/keyspace.h"

namespace lockkeeper::support {

enum class CommandKind {
  kRead,
  kWrite,         // Changes keys, and may need no memory.
  kWriteGrowing,  // Changes keys and needs memory: refused when there is none.
  kPubSub,        // Belongs to the server: `run` is null.
  kScripting,     // The same, and refused in scripts.
};

struct CommandSpec {
  std::string_view name;
  int arity;  // Words with the name; negative: at least as many.
  CommandKind kind;
  int first_key;  // Position of the first key among the words; 0: no keys.
  int last_key;   // Position of the last; -1: the last word.
  CommandReply (*run)(Keyspace& keys, Words words);
};

// Null if there is no such command. `name` may be in any case.
const CommandSpec* FindCommand(std::string_view name);

bool ArityFits(const CommandSpec& spec, Words words);

// The words of a command that name keys.
Words KeysOf(const CommandSpec& spec, Words words);

// Commands on strings, in string_commands.cc.
CommandReply Get(Keyspace& keys, Words words);
CommandReply MGet(Keyspace& keys, Words words);
CommandReply Set(Keyspace& keys, Words words);
CommandReply GetRange(Keyspace& keys, Words words);
CommandReply SetRange(Keyspace& keys, Words words);

// Commands on hashes, in hash_commands.cc.
CommandReply HSet(Keyspace& keys, Words words);

// Commands on sorted sets, in sorted_set_commands.cc.
CommandReply ZAdd(Keyspace& keys, Words words);
CommandReply ZRem(Keyspace& keys, Words words);
CommandReply ZScore(Keyspace& keys, Words words);
CommandReply ZCount(Keyspace& keys, Words words);
CommandReply ZRangeByScore(Keyspace& keys, Words words);

// Commands on keys of any type, in key_commands.cc.
CommandReply Del(Keyspace& keys, Words words);
CommandReply Exists(Keyspace& keys, Words words);
CommandReply Type(Keyspace& keys, Words words);
CommandReply PExpireAt(Keyspace& keys, Words words);
CommandReply PTtl(Keyspace& keys, Words words);
CommandReply Scan(Keyspace& keys, Words words);
CommandReply DbSize(Keyspace& keys, Words words);
CommandReply FlushAll(Keyspace& keys, Words words);
CommandReply Time(Keyspace& keys, Words words);

// What several of them answer.
CommandReply WrongTypeReply();
CommandReply NotAnIntegerReply();

// A word as Redis reads integers: decimal, no leading zeros, plus or spaces. False if it is none.
bool ParseInteger(std::string_view word, int64_t& value);

// Compares a word with an upper-case keyword.
bool IsKeyword(std::string_view word, std::string_view keyword);

}  // namespace lockkeeper::support
