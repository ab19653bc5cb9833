// SPDX-License-Identifier: Apache-2.0
#include "support/process/redis_connection.h"

#include <hiredis/hiredis.h>

#include <stdexcept>

namespace lockkeeper::support {
namespace {

using redis::Reply;

constexpr timeval kReplyLimit{30, 0};

Reply Convert(const redisReply& from) {
  Reply to;
  switch (from.type) {
    case REDIS_REPLY_INTEGER:
      to.type = Reply::Type::kInteger;
      to.integer = from.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      to.type = Reply::Type::kText;
      to.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ERROR:
      to.type = Reply::Type::kError;
      to.text.assign(from.str, from.len);
      break;
    case REDIS_REPLY_ARRAY:
      to.type = Reply::Type::kArray;
      for (size_t i = 0; i < from.elements; ++i) to.items.push_back(Convert(*from.element[i]));
      break;
    default:
      break;
  }
  return to;
}

}  // namespace

void RedisConnection::Free::operator()(redisContext* context) const { redisFree(context); }

RedisConnection::RedisConnection(const std::string& socket_path)
    : context_(redisConnectUnixWithTimeout(socket_path.c_str(), kReplyLimit)) {
  if (!context_ || context_->err != 0) Fail();
  redisSetTimeout(context_.get(), kReplyLimit);
}

RedisConnection::~RedisConnection() = default;

void RedisConnection::Send(const std::vector<std::string_view>& words) {
  std::vector<const char*> pointers;
  std::vector<size_t> lengths;
  for (const std::string_view word : words) {
    pointers.push_back(word.data());
    lengths.push_back(word.size());
  }
  const int appended = redisAppendCommandArgv(context_.get(), static_cast<int>(words.size()),
                                              pointers.data(), lengths.data());
  if (appended != REDIS_OK) Fail();
}

Reply RedisConnection::Receive() {
  void* reply = nullptr;
  if (redisGetReply(context_.get(), &reply) != REDIS_OK) Fail();
  const std::unique_ptr<redisReply, void (*)(void*)> owned(static_cast<redisReply*>(reply),
                                                           freeReplyObject);
  return Convert(*owned);
}

Reply RedisConnection::Run(const std::vector<std::string_view>& words) {
  Send(words);
  return Receive();
}

void RedisConnection::Fail() const {
  throw std::runtime_error("connection to redis-server: " +
                           std::string(context_ ? context_->errstr : "out of memory"));
}

}  // namespace lockkeeper::support
