// SPDX-License-Identifier: Apache-2.0
#include "support/fake_node/commands.h"

namespace lockkeeper::support {

CommandReply HSet(Keyspace& keys, Words words) {
  if (words.size() % 2 != 0) {
    return ErrorReply("ERR wrong number of arguments for 'hset' command");
  }
  Value* value = keys.Find(words[1]);
  if (!value) value = &keys.Put(words[1], Hash(), std::nullopt);
  auto* hash = std::get_if<Hash>(value);
  if (!hash) return WrongTypeReply();
  int64_t added = 0;
  for (size_t i = 2; i < words.size(); i += 2) {
    added += hash->insert_or_assign(std::string(words[i]), std::string(words[i + 1])).second;
  }
  return IntegerReply(added);
}

}  // namespace lockkeeper::support
