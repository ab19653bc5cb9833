// SPDX-License-Identifier: Apache-2.0
#include "bench/micro/prompt_node.h"

#include <charconv>
#include <string_view>

#include "core/errors.h"
#include "redis/format/lock_record.h"
#include "redis/format/store_marker.h"
#include "redis/scripts.h"

namespace lockkeeper::bench {
namespace {

using redis::Reply;

constexpr int64_t kTtlMs = 30'000;

Reply Integer(int64_t value) { return {.type = Reply::Type::kInteger, .integer = value}; }

// EVALSHA, the hash, and how many keys: each word is a line behind one with its length.
size_t KeysOf(const redis::Command& command) {
  constexpr int kLinesBefore = 6;
  std::string_view wire = command.wire();
  for (int i = 0; i < kLinesBefore; ++i) wire.remove_prefix(wire.find('\n') + 1);
  size_t keys = 0;
  std::from_chars(wire.data(), wire.data() + wire.size(), keys);
  return keys;
}

// What scripts/marker.lua answers of a store that this service has always had.
Reply Marked(const redis::NodeLife& life, int64_t now) {
  const redis::StoreMarker marker{.service_id = std::string(16, '1'),
                                  .epoch = 1,
                                  .run_id = life.run_id,
                                  .ttl_ceiling = core::Millis(kTtlMs * 10),
                                  .durable = life.durable,
                                  .home = std::string(16, '0'),
                                  .reassertion_key = std::string(32, '2')};
  const std::string time = redis::Digits(now, 16);  // Which rises, as the count does.
  const std::string beat = " " + time + " " + time;
  return {.type = Reply::Type::kArray,
          .items = {Integer(now), {.type = Reply::Type::kText, .text = marker.Text() + beat}}};
}

constexpr size_t kReplyWidth = 4;  // For each lock.

// Outcome 1 is what everybody hopes for; then token, remaining time in us and ttl in ms, or, of a
// release, that no hand-over has to go on, no time and no token.
Reply Granted(size_t locks, bool is_release, int64_t now) {
  Reply reply{.type = Reply::Type::kArray};
  reply.items.reserve(1 + locks * kReplyWidth);
  reply.items.push_back(Integer(now));
  for (size_t i = 0; i < locks; ++i) {
    reply.items.push_back(Integer(1));
    if (is_release) {
      for (size_t value = 1; value < kReplyWidth; ++value) reply.items.push_back(Integer(0));
      continue;
    }
    for (const int64_t value : {now, kTtlMs * 1000, kTtlMs}) reply.items.push_back(Integer(value));
  }
  return reply;
}

}  // namespace

void PromptNode::Run(redis::Route, const redis::ScriptSource& script, redis::Command command,
                     redis::ReplyDone done) {
  if (script.name == redis::kMarkerScript.name) {
    calls_.emplace_back([this, done = std::move(done)]() mutable {
      std::move(done)(Marked(life_, ++clock_micros_));
    });
    return;
  }
  const bool is_release = script.name == redis::kReleaseScript.name;
  const size_t locks = KeysOf(command) - 1;  // The last one is the marker's.
  calls_.emplace_back([this, locks, is_release, done = std::move(done)]() mutable {
    std::move(done)(Granted(locks, is_release, ++clock_micros_));
  });
}

void PromptNode::Send(redis::Route, redis::Command, redis::ReplyDone done) {
  calls_.emplace_back([done = std::move(done)]() mutable {
    std::move(done)(core::Error(core::ErrorReason::kStoreUnavailable, "scripts only"));
  });
}

bool PromptNode::AnswerAll() {
  std::vector<Call> calls = std::exchange(calls_, {});
  for (Call& call : calls) std::move(call)();
  return !calls.empty();
}

}  // namespace lockkeeper::bench
