// SPDX-License-Identifier: Apache-2.0
#include "redis/client/reply_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace lockkeeper::redis {
namespace {

using Type = Reply::Type;
using Result = ReplyReader::Result;
using ::testing::HasSubstr;

// A reply in one line: (nil), 7, "text", -ERR, [..].
std::string Show(const Reply& reply) {
  switch (reply.type) {
    case Type::kNil:
      return "(nil)";
    case Type::kInteger:
      return std::to_string(reply.integer);
    case Type::kText:
      return '"' + reply.text + '"';
    case Type::kError:
      return '-' + reply.text;
    case Type::kArray:
      break;
  }
  std::string text = "[";
  for (const Reply& item : reply.items) text += (text.size() > 1 ? " " : "") + Show(item);
  return text + "]";
}

// All replies in `bytes`, and how it ended.
std::string ReadAll(ReplyReader& reader, std::string_view bytes) {
  reader.Feed(bytes);
  std::string shown;
  for (;;) {
    Reply reply;
    switch (reader.Next(reply)) {
      case Result::kReply:
        shown += Show(reply) + " ";
        break;
      case Result::kNeedsMore:
        return shown + "...";
      case Result::kBroken:
        return shown + "broken: " + reader.problem();
    }
  }
}

std::string ReadAll(std::string_view bytes) {
  ReplyReader reader;
  return ReadAll(reader, bytes);
}

TEST(ReplyReaderTest, EveryTypeIsRead) {
  EXPECT_EQ(ReadAll("+OK\r\n"), "\"OK\" ...");
  EXPECT_EQ(ReadAll("-ERR wrong\r\n"), "-ERR wrong ...");
  EXPECT_EQ(ReadAll(":-9007199254740991\r\n"), "-9007199254740991 ...");
  EXPECT_EQ(ReadAll("$5\r\na\r\nbc\r\n"), "\"a\r\nbc\" ...");
  EXPECT_EQ(ReadAll("$0\r\n\r\n"), "\"\" ...");
  EXPECT_EQ(ReadAll("$-1\r\n"), "(nil) ...");
  EXPECT_EQ(ReadAll("*-1\r\n"), "(nil) ...");
  EXPECT_EQ(ReadAll("*0\r\n"), "[] ...");
  EXPECT_EQ(ReadAll("*3\r\n:1\r\n*2\r\n$1\r\nx\r\n-E\r\n$-1\r\n"), "[1 [\"x\" -E] (nil)] ...");
}

TEST(ReplyReaderTest, ErrorsAreTextWhateverTheServerSends) {
  EXPECT_EQ(ReadAll("-ERR \xff\x01\xc3\xa9\r\n"), "-ERR \\xff\\x01\xc3\xa9 ...");
  EXPECT_EQ(ReadAll("$2\r\n\xff\x01\r\n"), "\"\xff\x01\" ...");
}

TEST(ReplyReaderTest, TypesOfTheNewerProtocolBecomeTheNearestOfOurs) {
  EXPECT_EQ(ReadAll("_\r\n"), "(nil) ...");
  EXPECT_EQ(ReadAll("#t\r\n#f\r\n"), "1 0 ...");
  EXPECT_EQ(ReadAll(",1.50\r\n"), "\"1.50\" ...");
  EXPECT_EQ(ReadAll("(123456789012345678901234567890\r\n"),
            "\"123456789012345678901234567890\" ...");
  EXPECT_EQ(ReadAll("=6\r\ntxt:ab\r\n"), "\"ab\" ...");
  EXPECT_EQ(ReadAll("%1\r\n+k\r\n:1\r\n"), "[\"k\" 1] ...");
  EXPECT_EQ(ReadAll("~1\r\n:1\r\n"), "[1] ...");
}

TEST(ReplyReaderTest, RepliesAreReadOneAfterTheOther) {
  EXPECT_EQ(ReadAll(":1\r\n:2\r\n+x"), "1 2 ...");
}

TEST(ReplyReaderTest, WhatIsNoReplyBreaksTheStreamForEver) {
  ReplyReader reader;

  EXPECT_THAT(ReadAll(reader, ":1\r\nHTTP/1.1 400 Bad Request\r\n"),
              HasSubstr("1 broken: Protocol error"));
  EXPECT_THAT(ReadAll(reader, ":2\r\n"), HasSubstr("broken: Protocol error"));
  EXPECT_THAT(ReadAll(":1x\r\n"), HasSubstr("broken: Bad integer value"));
  EXPECT_THAT(ReadAll("$-2\r\n"), HasSubstr("broken: Bulk string length out of range"));
  EXPECT_THAT(ReadAll("*-2\r\n"), HasSubstr("broken: Multi-bulk length out of range"));
  EXPECT_THAT(ReadAll(">1\r\n+x\r\n"), HasSubstr("broken: a push message"));
}

TEST(ReplyReaderTest, LimitsEndTheStream) {
  const ReplyLimits limits{.bytes_max = 1000, .items_max = 10, .depth_max = 3};
  const auto read = [&](std::string_view bytes) {
    ReplyReader reader(limits);
    return ReadAll(reader, bytes);
  };

  EXPECT_EQ(read("*1\r\n*1\r\n*1\r\n:1\r\n"), "[[[1]]] ...");
  EXPECT_EQ(read("*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n"), "broken: arrays nested deeper than 3");
  EXPECT_EQ(read("*9\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"),
            "[1 1 1 1 1 1 1 1 1] ...");
  EXPECT_EQ(read("*2\r\n*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"),
            "broken: a reply of more than 10 items");
  EXPECT_THAT(read("*11\r\n"), HasSubstr("broken: Multi-bulk length out of range"));
  EXPECT_EQ(read("$2000\r\n" + std::string(900, 'x')), "...");
  EXPECT_EQ(read("$2000\r\n" + std::string(1100, 'x')), "broken: an item of more than 1000 bytes");
}

TEST(ReplyReaderTest, ItemsAreCountedPerReply) {
  ReplyReader reader({.items_max = 3});

  for (int i = 0; i < 100; ++i) EXPECT_EQ(ReadAll(reader, "*2\r\n:1\r\n:2\r\n"), "[1 2] ...");
}

// The word of a header alone must not take memory.
TEST(ReplyReaderTest, LargestHeaderTakesNoMemoryUntilItsItemsCome) {
  ReplyReader reader({.items_max = size_t{1} << 40});

  EXPECT_EQ(ReadAll(reader, "*1099511627776\r\n"), "...");
  EXPECT_EQ(ReadAll(reader, ":1\r\n"), "...");
}

std::string Wire(const Reply& reply) {
  const std::string size = std::to_string(reply.text.size());
  switch (reply.type) {
    case Type::kNil:
      return "$-1\r\n";
    case Type::kInteger:
      return ":" + std::to_string(reply.integer) + "\r\n";
    case Type::kText:
      return "$" + size + "\r\n" + reply.text + "\r\n";
    case Type::kError:
      return "-" + reply.text + "\r\n";
    case Type::kArray:
      break;
  }
  std::string wire = "*" + std::to_string(reply.items.size()) + "\r\n";
  for (const Reply& item : reply.items) wire += Wire(item);
  return wire;
}

Reply RandomReply(std::mt19937& engine, int depth) {
  Reply reply;
  switch (engine() % (depth > 3 ? 4 : 6)) {
    case 0:
      break;
    case 1:
      reply.type = Type::kInteger;
      reply.integer = static_cast<int64_t>(engine()) * static_cast<int32_t>(engine());
      break;
    case 2:
      reply.type = Type::kText;
      for (size_t i = engine() % 40; i > 0; --i) reply.text.push_back(static_cast<char>(engine()));
      break;
    case 3:
      reply.type = Type::kError;
      reply.text = "ERR " + std::to_string(engine());
      break;
    default:
      reply.type = Type::kArray;
      for (size_t i = engine() % 6; i > 0; --i)
        reply.items.push_back(RandomReply(engine, depth + 1));
  }
  return reply;
}

// Goal: what the network does to the stream does not matter. Method: random replies, cut into
// random pieces, must come out as they were.
TEST(ReplyReaderTest, RandomRepliesSurviveAnyCut) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 engine(seed);
    std::string wire;
    std::vector<std::string> expected;
    for (int i = 0; i < 20; ++i) {
      const Reply reply = RandomReply(engine, 0);
      wire += Wire(reply);
      expected.push_back(Show(reply));
    }

    ReplyReader reader;
    std::vector<std::string> read;
    for (std::string_view rest = wire; !rest.empty();) {
      const size_t length = std::min<size_t>(rest.size(), 1 + engine() % 50);
      reader.Feed(rest.substr(0, length));
      rest.remove_prefix(length);
      Reply reply;
      while (reader.Next(reply) == Result::kReply) read.push_back(Show(reply));
    }

    EXPECT_EQ(read, expected);
    EXPECT_EQ(reader.problem(), "");
  }
}

// Goal: no bytes whatever crash the parser or make it leak (the sanitizers look). Method: streams
// that are nearly right: bytes replaced, left out, put in.
TEST(ReplyReaderTest, MutilatedStreamsDoNoHarm) {
  constexpr std::string_view kBytes = "*$+-:_#,(=%~>|\r\n0123456789txtinf.";
  int broken = 0;
  for (uint32_t seed = 0; seed < 20'000; ++seed) {
    std::mt19937 engine(seed);
    std::string wire;
    for (size_t i = engine() % 5; i < 5; ++i) wire += Wire(RandomReply(engine, 0));
    for (size_t i = 0; i < 1 + engine() % 8; ++i) {
      const size_t at = engine() % (wire.size() + 1);
      const char byte = kBytes[engine() % kBytes.size()];
      const auto kind = engine() % 3;
      if (kind == 0) wire.insert(at, 1, byte);
      if (kind == 1 && at < wire.size()) wire[at] = byte;
      if (kind == 2 && at < wire.size()) wire.erase(at, 1 + engine() % 4);
    }
    ReplyReader reader({.bytes_max = 1000, .items_max = 100, .depth_max = 4});
    broken += ReadAll(reader, wire).find("broken") != std::string::npos;
  }
  EXPECT_GT(broken, 1000);
}

}  // namespace
}  // namespace lockkeeper::redis
