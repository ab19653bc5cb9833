// SPDX-License-Identifier: Apache-2.0
//
// What a server sends, which is read the same in one piece and in two. The first byte says where
// the second piece begins.
#include <string>

#include "fuzz/target.h"
#include "redis/client/reply_reader.h"

namespace {

using lockkeeper::redis::Reply;
using lockkeeper::redis::ReplyLimits;
using lockkeeper::redis::ReplyReader;

// Small, so that inputs reach them.
constexpr ReplyLimits kLimits{.bytes_max = 512, .items_max = 64, .depth_max = 4};

void Show(const Reply& reply, std::string& to) {
  to.append(std::to_string(static_cast<int>(reply.type))).append(":");
  to.append(std::to_string(reply.integer)).append(reply.text).append("[");
  for (const Reply& item : reply.items) Show(item, to);
  to.append("]");
}

// False once the stream is broken.
bool ReadAll(ReplyReader& reader, std::string& replies) {
  for (;;) {
    Reply reply;
    switch (reader.Next(reply)) {
      case ReplyReader::Result::kReply:
        Show(reply, replies);
        break;
      case ReplyReader::Result::kNeedsMore:
        return true;
      case ReplyReader::Result::kBroken:
        lockkeeper::fuzz::Require(!reader.problem().empty(), "a broken stream has a reason");
        return false;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const auto bytes = lockkeeper::fuzz::TextOf(data + 1, size - 1);
  const size_t split = data[0] * bytes.size() / 256;

  ReplyReader whole(kLimits), parts(kLimits);
  std::string from_whole, from_parts;
  whole.Feed(bytes);
  const bool whole_is_sound = ReadAll(whole, from_whole);
  parts.Feed(bytes.substr(0, split));
  bool parts_are_sound = ReadAll(parts, from_parts);
  if (parts_are_sound) {
    parts.Feed(bytes.substr(split));
    parts_are_sound = ReadAll(parts, from_parts);
  }
  // The limit of bytes is about what has come and is no whole reply, so one piece may pass it.
  if (bytes.size() <= kLimits.bytes_max) {
    lockkeeper::fuzz::Require(whole_is_sound == parts_are_sound && from_whole == from_parts,
                              "a stream is read the same in one piece and in two");
  }
  return 0;
}
