// SPDX-License-Identifier: Apache-2.0
//
// What the in-process script host refuses though some server would take it: a script that passes
// here runs everywhere. That it does the rest as Redis does, tests/scripts compares with Redis.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fake_node/redis_model.h"
#include "support/manual_clock.h"

namespace lockkeeper::support {
namespace {

using redis::Reply;
using testing::HasSubstr;
using testing::StartsWith;

class LuaScriptsTest : public testing::Test {
 protected:
  Reply Eval(const std::string& body, std::vector<std::string_view> keys_and_arguments = {"0"}) {
    const std::string text = "#!lua\n" + body;
    std::vector<std::string_view> words = {"EVAL", text};
    words.insert(words.end(), keys_and_arguments.begin(), keys_and_arguments.end());
    return server_.Execute(words);
  }

  ManualClock clock_;
  LuaScripts lua_;
  RedisModel server_{lua_, clock_};
};

TEST_F(LuaScriptsTest, KeyThatIsNotInKeysIsRefused) {
  const Reply reply = Eval("return redis.call('GET', 'b')", {"1", "a"});

  EXPECT_EQ(reply.type, Reply::Type::kError);
  EXPECT_THAT(reply.text, HasSubstr("not in KEYS: b"));
  EXPECT_EQ(Eval("return redis.call('GET', 'a')", {"1", "a"}).type, Reply::Type::kNil);
}

TEST_F(LuaScriptsTest, WhatIsNoCoreLuaDoesNotExist) {
  for (const char* name : {"cjson", "cmsgpack", "bit", "struct", "os", "io", "debug", "loadstring",
                           "dofile", "require", "print", "_G", "coroutine", "jit"}) {
    EXPECT_THAT(Eval(std::string("return ") + name).text,
                HasSubstr("nonexistent global variable '" + std::string(name) + "'"));
  }
  EXPECT_THAT(Eval("return math.random()").text, HasSubstr("'random' (a nil value)"));
  EXPECT_THAT(Eval("return table.move({}, 1, 1, 1)").text, HasSubstr("'move' (a nil value)"));
}

TEST_F(LuaScriptsTest, NewGlobalsAreRefused) {
  EXPECT_THAT(Eval("x = 1").text, HasSubstr("Attempt to modify a readonly table"));
}

TEST_F(LuaScriptsTest, WhatCallsLeaveIsForgottenOnceNoTextsComeAnyMore) {
  const std::string leaves_much = "return #string.rep(ARGV[1], 400)";
  Eval(leaves_much, {"0", "text"});
  lua_.ExpectNoMore();

  for (int call = 1000; call < 2000; ++call) {
    const std::string text = std::to_string(call) + std::string(996, '.');
    ASSERT_EQ(Eval(leaves_much, {"0", text}).integer, 400'000) << call;
  }
  EXPECT_EQ(Eval("return {ARGV[1]}", {"0", "another text"}).items.size(), 1U);
  EXPECT_EQ(Eval(leaves_much, {"0", "text"}).integer, 1600);
}

TEST_F(LuaScriptsTest, ScriptWithoutShebangIsRefused) {
  const std::vector<std::string_view> words = {"EVAL", "return 1", "0"};

  EXPECT_THAT(server_.Execute(words).text, HasSubstr("#!lua"));
}

TEST_F(LuaScriptsTest, FullMemoryRefusesScriptsWithoutTheFlag) {
  server_.SetMemory(MemoryState::kFull);
  const std::vector<std::string_view> allowed = {
      "EVAL", "#!lua flags=allow-oom\nreturn redis.call('SET', KEYS[1], 'x')", "1", "a"};

  EXPECT_THAT(Eval("return 1").text, StartsWith("OOM "));
  EXPECT_EQ(server_.Execute(allowed).text, "OK");
}

}  // namespace
}  // namespace lockkeeper::support
