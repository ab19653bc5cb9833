// SPDX-License-Identifier: Apache-2.0
#include "redis/client/reply_reader.h"

#include <hiredis/hiredis.h>

#include <memory>
#include <utility>

#include "text/escape.h"

namespace lockkeeper::redis {
namespace {

// Room that is taken on the word of an array's header alone.
constexpr size_t kItemsReservedMax = 256;

}  // namespace

// What hiredis calls for each item it has read. A null answer ends the parse.
struct ReplyReader::Builder {
  // A place for the item: the root, or the next one in its array. Only the last item of an array
  // can be an array that still grows, so pointers to those stay valid.
  static Reply* Place(const redisReadTask* task) {
    auto& reader = *static_cast<ReplyReader*>(task->privdata);
    if (++reader.items_ > reader.limits_.items_max) {
      reader.problem_ =
          "a reply of more than " + std::to_string(reader.limits_.items_max) + " items";
      return nullptr;
    }
    if (task->parent == nullptr) return new Reply;
    return &static_cast<Reply*>(task->parent->obj)->items.emplace_back();
  }

  static void* String(const redisReadTask* task, char* bytes, size_t length) {
    Reply* reply = Place(task);
    if (reply == nullptr) return nullptr;
    std::string_view content(bytes, length);
    if (task->type == REDIS_REPLY_ERROR) {
      reply->type = Reply::Type::kError;
      reply->text = text::InOneLine(content);  // People read it, and messages of gRPC carry it.
      return reply;
    }
    if (task->type == REDIS_REPLY_VERB) content.remove_prefix(sizeof "txt:" - 1);
    reply->type = Reply::Type::kText;
    reply->text = content;
    return reply;
  }

  static void* Array(const redisReadTask* task, size_t count) {
    auto& reader = *static_cast<ReplyReader*>(task->privdata);
    if (task->type == REDIS_REPLY_PUSH) {
      reader.problem_ = "a push message that nothing subscribed to";
      return nullptr;
    }
    size_t depth = 1;
    for (const redisReadTask* at = task->parent; at != nullptr; at = at->parent) ++depth;
    if (depth > reader.limits_.depth_max) {
      reader.problem_ = "arrays nested deeper than " + std::to_string(reader.limits_.depth_max);
      return nullptr;
    }
    Reply* reply = Place(task);
    if (reply == nullptr) return nullptr;
    reply->type = Reply::Type::kArray;
    if (count <= kItemsReservedMax) reply->items.reserve(count);
    return reply;
  }

  static void* Integer(const redisReadTask* task, long long value) {
    Reply* reply = Place(task);
    if (reply == nullptr) return nullptr;
    reply->type = Reply::Type::kInteger;
    reply->integer = value;
    return reply;
  }

  static void* Double(const redisReadTask* task, double, char* text, size_t length) {
    Reply* reply = Place(task);
    if (reply == nullptr) return nullptr;
    reply->type = Reply::Type::kText;
    reply->text.assign(text, length);
    return reply;
  }

  static void* Nil(const redisReadTask* task) { return Place(task); }

  static void* Bool(const redisReadTask* task, int value) { return Integer(task, value); }

  static void Free(void* root) { delete static_cast<Reply*>(root); }
};

const redisReplyObjectFunctions ReplyReader::kFunctions = {
    Builder::String, Builder::Array, Builder::Integer, Builder::Double,
    Builder::Nil,    Builder::Bool,  Builder::Free,
};

ReplyReader::ReplyReader(ReplyLimits limits)
    : limits_(limits),
      // hiredis does not change the table, it only forgot to say so.
      reader_(redisReaderCreateWithFunctions(const_cast<redisReplyObjectFunctions*>(&kFunctions))) {
  if (reader_ == nullptr) throw std::bad_alloc();
  reader_->privdata = this;
  reader_->maxelements = static_cast<long long>(limits_.items_max);
}

ReplyReader::~ReplyReader() { redisReaderFree(reader_); }

void ReplyReader::Feed(std::string_view bytes) {
  redisReaderFeed(reader_, bytes.data(), bytes.size());  // Its error shows in Next().
}

ReplyReader::Result ReplyReader::Next(Reply& reply) {
  if (!problem_.empty()) return Result::kBroken;
  void* root = nullptr;
  if (redisReaderGetReply(reader_, &root) != REDIS_OK) {
    if (problem_.empty()) problem_ = reader_->errstr;
    return Result::kBroken;
  }
  if (root == nullptr) {
    if (reader_->len - reader_->pos <= limits_.bytes_max) return Result::kNeedsMore;
    problem_ = "an item of more than " + std::to_string(limits_.bytes_max) + " bytes";
    return Result::kBroken;
  }
  const std::unique_ptr<Reply> built(static_cast<Reply*>(root));
  reply = std::move(*built);
  items_ = 0;
  return Result::kReply;
}

}  // namespace lockkeeper::redis
