// SPDX-License-Identifier: Apache-2.0
//
// Cuts a stream of bytes into replies. hiredis parses; replies are built as our own type right
// away. Whatever comes, memory stays in proportion to the bytes received, and depth and size have
// limits: a server that is no Redis, or is broken, ends the connection and nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "redis/node/reply.h"

// NOLINTBEGIN(readability-identifier-naming): hiredis' names
struct redisReader;
struct redisReplyObjectFunctions;
// NOLINTEND(readability-identifier-naming)

namespace lockkeeper::redis {

struct ReplyLimits {
  size_t bytes_max = 64 << 20;  // Of what is not a whole item yet.
  size_t items_max = 1 << 20;   // Of one reply, all levels together.
  size_t depth_max = 8;         // Arrays in arrays.
};

// Thread-safety: not thread-safe.
class ReplyReader {
 public:
  explicit ReplyReader(ReplyLimits limits = {});
  ~ReplyReader();
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Takes the next bytes of the stream.
  void Feed(std::string_view bytes);

  enum class Result { kReply, kNeedsMore, kBroken };

  // Moves the next whole reply to `reply`. Once broken, broken for ever; see problem().
  Result Next(Reply& reply);

  // What is wrong with the stream, for people.
  const std::string& problem() const { return problem_; }

 private:
  struct Builder;
  static const redisReplyObjectFunctions kFunctions;

  const ReplyLimits limits_;
  redisReader* reader_;
  size_t items_ = 0;  // Of the reply that is being built.
  std::string problem_;
};

}  // namespace lockkeeper::redis
